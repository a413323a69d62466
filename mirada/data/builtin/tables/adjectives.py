"""The adjectives and what they can be said of.

A line is `Spanish | English | Portuguese | kinds`, where an English noun may stand for a kind. Qualities take "ser" in
Spanish and Portuguese, states take "estar". The adjectives that go before their noun have all their forms spelled out,
and those marked `the` go with a definite article or a possessive only (`the only`: not with a possessive).
"""

QUALITY = """
    alto | tall | alto | person kin name tree tower building
    bajo | short | baixo | person kin name
    joven/jóvenes | young | jovem | person kin name
    inteligente | intelligent | inteligente | person kin name dog cat horse monkey dolphin
    simpático | nice | simpático | person kin name
    amable | kind | gentil | person kin name
    famoso | famous | famoso | person name museum castle church painting song
    rico | rich | rico | person kin name
    pobre | poor | pobre | person kin name
    honesto | honest | honesto | person kin name
    tímido | shy | tímido | person kin name
    valiente | brave | corajoso | person kin name
    fuerte | strong | forte | person kin name horse bear lion tiger
    débil | weak | fraco | person
    perezoso | lazy | preguiçoso | person kin name cat dog
    curioso | curious | curioso | person kin name cat monkey
    generoso | generous | generoso | person kin name
    serio | serious | sério | person kin name
    elegante | elegant | elegante | person kin name clothes
    pequeño | small | pequeno | tangible room place animal lake island house bridge tower food greenery
    grande | big | grande | tangible room place animal lake island house bridge tower food
    bonito | pretty | bonito | clothes object room landmark greenery instrument art
    feo | ugly | feio | clothes furniture vehicle building
    caro | expensive | caro | clothes object furniture vehicle instrument device hotel restaurant trip
    barato | cheap | barato | clothes object furniture vehicle instrument device hotel restaurant
    rojo | red | vermelho | clothes object furniture vehicle opening
    azul | blue | azul | clothes object furniture vehicle opening
    verde | green | verde | clothes object furniture vehicle opening
    amarillo | yellow | amarelo | clothes object furniture vehicle opening
    blanco | white | branco | clothes object furniture vehicle opening cat dog horse
    negro | black | preto | clothes object furniture vehicle opening cat dog horse
    gris | gray | cinza | clothes furniture vehicle
    marrón/marrones | brown | marrom | clothes furniture dog horse
    moderno | modern | moderno | furniture device room museum hospital building
    antiguo | ancient | antigo | bridge tower castle church building
    viejo | old | velho | clothes object furniture vehicle instrument device person dog
    nuevo | new | novo | clothes object furniture vehicle instrument device text
    largo | long | longo | text event river bridge street road
    interesante | interesting | interessante | text idea plan question problem lesson event art museum
    aburrido | boring | chato | text meeting class film party trip
    difícil | difficult | difícil | problem question answer word rule lesson exercise exam
    fácil | easy | fácil | question answer exercise lesson exam recipe
    importante | important | importante | problem question idea plan secret rule lesson word meeting class exam text
    útil | useful | útil | dictionary map knife bag idea answer plan rule lesson device
    peligroso | dangerous | perigoso | lion tiger bear snake wolf river road street idea plan secret
    rápido | fast | rápido | vehicle horse dog
    lento | slow | lento | vehicle turtle
    pesado | heavy | pesado | object furniture piano drum
    ligero | light | leve | object jacket coat
    redondo | round | redondo | table carpet mirror box plate
    delicioso | delicious | delicioso | food dish drink dinner breakfast lunch
    dulce | sweet | doce | food
    salado | salty | salgado | dish
    saludable | healthy | saudável | food fruit fish soup breakfast
    extraño | strange | estranho | object idea plan question answer word name rule text animal person
    divertido | fun | divertido | party trip class film match
    cómodo | comfortable | confortável | clothes furniture vehicle room
    profundo | deep | profundo | lake sea river
    ancho | wide | largo | street river road bridge
    estrecho | narrow | estreito | street path hallway bridge
    tranquilo | quiet | tranquilo | place room street beach
    ruidoso | noisy | barulhento | street city station device engine
"""

STATE = """
    cansado | tired | cansado | person kin animal name infant
    contento | happy | contente | person kin name infant
    triste | sad | triste | person kin name infant
    enfermo | sick | doente | person kin animal name infant
    nervioso | nervous | nervoso | person kin name dog cat horse
    enojado | angry | zangado | person kin name
    preocupado | worried | preocupado | person kin name
    ocupado | busy | ocupado | person kin name
    solo | alone | sozinho | person kin name
    sorprendido | surprised | surpreso | person kin name
    asustado | scared | assustado | person kin animal name infant
    borracho | drunk | bêbado | person name
    herido | injured | ferido | person animal name
    perdido | lost | perdido | person name dog cat suitcase key
    mojado | wet | molhado | clothes dog cat carpet towel
    seco | dry | seco | clothes towel
    sucio | dirty | sujo | clothes object furniture room vehicle window
    limpio | clean | limpo | clothes object furniture room vehicle window
    roto | broken | quebrado | device furniture window door cup plate glass bottle lamp mirror umbrella toy
    vacío | empty | vazio | room bottle box glass suitcase bag closet
    lleno | full | cheio | bottle box glass suitcase bag
    abierto | open | aberto | opening museum store pharmacy bakery library supermarket restaurant
    cerrado | closed | fechado | opening museum store pharmacy bakery library supermarket restaurant
    frío | cold | frio | soup coffee tea milk water beer
    caliente | hot | quente | soup coffee tea milk water oven
    listo | ready | pronto | person kin name dish breakfast lunch dinner
    ordenado | tidy | arrumado | room
"""

# Adjectives that never stand beside their noun, and those that "very" does not go with.
PREDICATIVE = "alone ready"
PLAIN = """alone ready delicious broken open closed empty full lost modern ancient round red blue green yellow white
    black gray brown injured"""

FRONT = """
    primer primera primeros primeras | first | primeiro primeira primeiros primeiras | text notion event art | the
    segundo segunda segundos segundas | second | segundo segunda segundos segundas | text notion event art | the
    tercer tercera terceros terceras | third | terceiro terceira terceiros terceiras | text notion event art | the
    último última últimos últimas | last | último última últimos últimas | text notion event art train bus | the
    otro otra otros otras | other | outro outra outros outras | tangible animal person room | the
    mismo misma mismos mismas | same | mesmo mesma mesmos mesmas | tangible place person notion art | the only
    mejor mejor mejores mejores | best | melhor melhor melhores melhores | friend teacher doctor student text art | the
    buen buena buenos buenas | good | bom boa bons boas | person text event art notion
    mal mala malos malas | bad | mau má maus más | person text event notion
    gran gran grandes grandes | great | grande grande grandes grandes | person artist
"""
