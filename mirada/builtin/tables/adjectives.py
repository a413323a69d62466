"""The adjectives and what they can be said of.

A line is `Spanish | English | Portuguese | kinds | flags`, where an English noun may stand for a kind and `-` takes one
away. Qualities take "ser" in Spanish and Portuguese, states take "estar". The flags of a quality say whether it speaks
for (`+`) or against (`-`) what has it; those of a state are the feelings of `verbs`, and `hinders` if it keeps one from
doing things. The adjectives that go before their noun have all their forms spelled out, and those marked `the` go with
a definite article or a possessive only (`the only`: not with a possessive).
"""

QUALITY = """
    alto | tall | alto | person kin name tree tower building
    bajo | short | baixo | person kin name
    joven/jóvenes | young | jovem | person kin name -boy -girl
    inteligente | intelligent | inteligente | person kin name dog cat horse monkey dolphin | +
    simpático | nice | simpático | person kin name | +
    amable | kind | gentil | person kin name | +
    famoso | famous | famoso | person name museum castle church painting song -boy -girl | +
    rico | rich | rico | person kin name -king -queen -boy -girl
    pobre | poor | pobre | person kin name -king -queen
    honesto | honest | honesto | person kin name -thief | +
    tímido | shy | tímido | person kin name
    valiente | brave | corajoso | person kin name | +
    fuerte | strong | forte | person kin name horse bear lion tiger
    débil | weak | fraco | person
    perezoso | lazy | preguiçoso | person kin name cat dog | -
    curioso | curious | curioso | person kin name cat monkey
    generoso | generous | generoso | person kin name | +
    serio | serious | sério | person kin name
    elegante | elegant | elegante | person kin name clothes -boy -girl -thief | +
    pequeño | small | pequeno | tangible room place animal lake island house bridge tower food greenery -grape
    grande | big | grande | tangible room place animal lake island house bridge tower food
    bonito | pretty | bonito | clothes object room landmark greenery instrument art | +
    feo | ugly | feio | clothes furniture vehicle building | -
    caro | expensive | caro | clothes object furniture vehicle instrument device hotel restaurant trip | -
    barato | cheap | barato | clothes object furniture vehicle instrument device hotel restaurant | +
    rojo | red | vermelho | clothes object furniture vehicle opening
    azul | blue | azul | clothes object furniture vehicle opening
    verde | green | verde | clothes object furniture vehicle opening
    amarillo | yellow | amarelo | clothes object furniture vehicle opening
    blanco | white | branco | clothes object furniture vehicle opening cat dog horse
    negro | black | preto | clothes object furniture vehicle opening cat dog horse
    gris | gray | cinza | clothes furniture vehicle
    marrón/marrones | brown | marrom | clothes furniture dog horse
    moderno | modern | moderno | furniture device room museum hospital building | +
    antiguo | ancient | antigo | bridge tower castle church building | +
    viejo | old | velho | clothes object furniture vehicle instrument device person dog -boy -girl | -
    nuevo | new | novo | clothes object furniture vehicle instrument device text | +
    largo | long | longo | text event river bridge street road -postcard -notebook -wedding | -
    interesante | interesting | interessante | text idea plan question problem lesson event art museum science | +
    aburrido | boring | chato | text meeting class film party trip | -
    difícil | difficult | difícil | problem question answer word rule lesson exercise exam subject science | -
    fácil | easy | fácil | question answer exercise lesson exam recipe subject | +
    importante | important | importante | problem question idea plan secret rule lesson word meeting class exam text | +
    útil | useful | útil | dictionary map knife bag idea answer plan rule lesson device | +
    peligroso | dangerous | perigoso | lion tiger bear snake wolf river road street idea plan secret | -
    rápido | fast | rápido | vehicle horse dog | +
    lento | slow | lento | vehicle turtle | -
    pesado | heavy | pesado | furniture piano drum suitcase box package bag pot mirror | -
    ligero | light | leve | jacket coat suitcase box package bag | +
    redondo | round | redondo | table carpet mirror box plate
    delicioso | delicious | delicioso | food dish drink dinner breakfast lunch -water -salt -lemon -onion | +
    dulce | sweet | doce | food -salad -sandwich -hamburger -egg -potato -lettuce -olive -onion -cucumber | +
    salado | salty | salgado | meat fish cheese soup ham butter chicken | -
    saludable | healthy | saudável | food fruit fish soup breakfast -hamburger -cake -cookie -ice_cream | +
    extraño | strange | estranho | object idea plan question answer word rule text animal person -friend | -
    divertido | fun | divertido | party trip class film match | +
    cómodo | comfortable | confortável | clothes furniture vehicle room -tie | +
    profundo | deep | profundo | lake sea river | -
    ancho | wide | largo | street river road bridge | -
    estrecho | narrow | estreito | street path hallway bridge | -
    tranquilo | quiet | tranquilo | room street beach park library village hotel garden | +
    ruidoso | noisy | barulhento | street city station device engine restaurant | -
"""

STATE = """
    cansado | tired | cansado | person kin animal name infant | sleepy hinders
    contento | happy | contente | person kin name infant | happy
    triste | sad | triste | person kin name infant | sad hinders
    enfermo | sick | doente | person kin animal name infant | ill hinders
    nervioso | nervous | nervoso | person kin name dog cat horse | worried
    enojado | angry | zangado | person kin name | angry
    preocupado | worried | preocupado | person kin name | worried
    ocupado | busy | ocupado | person kin name | hinders
    solo | alone | sozinho | person kin name | sad
    sorprendido | surprised | surpreso | person kin name
    asustado | scared | assustado | person kin animal name infant | scared hinders
    borracho | drunk | bêbado | person name -boy -girl
    herido | injured | ferido | person animal name | ill hinders
    perdido | lost | perdido | person name dog cat suitcase key
    mojado | wet | molhado | clothes dog cat carpet towel
    seco | dry | seco | clothes towel
    sucio | dirty | sujo | clothes furniture room vehicle window cup plate glass spoon fork knife pot towel
    limpio | clean | limpo | clothes furniture room vehicle window cup plate glass spoon fork knife pot towel
    roto | broken | quebrado | device furniture fragile -light
    vacío | empty | vazio | room bottle box glass suitcase bag closet
    lleno | full | cheio | bottle box glass suitcase bag
    abierto | open | aberto | opening museum store pharmacy bakery library supermarket restaurant
    cerrado | closed | fechado | opening museum store pharmacy bakery library supermarket restaurant
    frío | cold | frio | soup coffee tea milk water beer
    caliente | hot | quente | soup coffee tea milk water oven
    listo | ready | pronto | person kin name dish breakfast lunch dinner -salt -honey -butter -fruit
    ordenado | tidy | arrumado | room -garden -yard -hallway
"""

# Adjectives that never stand beside their noun, and those that "very" does not go with.
PREDICATIVE = "alone ready surprised"
PLAIN = """alone ready delicious broken open closed empty full lost modern ancient round red blue green yellow white
    black gray brown injured"""

# What nothing has that is only being made.
USED = "old new tired wet dry dirty clean broken empty full open closed cold hot ancient modern expensive cheap"

FRONT = """
    primer primera primeros primeras | first | primeiro primeira primeiros primeiras | text notion event art | the
    segundo segunda segundos segundas | second | segundo segunda segundos segundas | text notion event art | the
    tercer tercera terceros terceras | third | terceiro terceira terceiros terceiras | text notion event art | the
    último última últimos últimas | last | último última últimos últimas | text notion event art train bus | the
    otro otra otros otras | other | outro outra outros outras | tangible animal person room | the
    mismo misma mismos mismas | same | mesmo mesma mesmos mesmas | tangible place person notion art | the only
    mejor mejor mejores mejores | best | melhor melhor melhores melhores | friend teacher doctor student text art | the
    buen buena buenos buenas | good | bom boa bons boas | person text event art notion -boy -girl
    mal mala malos malas | bad | mau má maus más | person text event notion -boy -girl -man -woman
    gran gran grandes grandes | great | grande grande grandes grandes | artist writer singer painter poet actor king
"""
