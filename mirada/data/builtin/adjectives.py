"""The adjectives and what they can be said of, the three languages side by side.

A line is `Spanish | English | Portuguese | kinds`, where an English noun may stand for a kind. The two tables differ in
the Spanish and Portuguese verb for "be": qualities take "ser", states take "estar".
"""

QUALITY = """
    alto | tall | alto | person kin tree tower building
    bajo | short | baixo | person kin
    joven/jóvenes | young | jovem | person kin
    inteligente | intelligent | inteligente | person kin animal
    simpático | nice | simpático | person kin
    amable | kind | gentil | person kin
    famoso | famous | famoso | person place landmark text art
    rico | rich | rico | person kin
    pobre | poor | pobre | person kin
    honesto | honest | honesto | person kin
    tímido | shy | tímido | person kin
    valiente | brave | corajoso | person kin animal
    fuerte | strong | forte | person kin animal
    débil | weak | fraco | person animal
    perezoso | lazy | preguiçoso | person kin animal
    curioso | curious | curioso | person kin animal
    generoso | generous | generoso | person kin
    serio | serious | sério | person kin
    elegante | elegant | elegante | person clothes room
    pequeño | small | pequeno | tangible room place animal landmark food plant
    grande | big | grande | tangible room place animal landmark food
    bonito | pretty | bonito | clothes object room place landmark plant animal instrument vehicle art
    feo | ugly | feio | clothes furniture landmark vehicle object animal
    caro | expensive | caro | clothes object furniture vehicle instrument device
    barato | cheap | barato | clothes object furniture vehicle instrument device
    rojo | red | vermelho | clothes object furniture vehicle opening
    azul | blue | azul | clothes object furniture vehicle opening
    verde | green | verde | clothes object furniture vehicle opening
    amarillo | yellow | amarelo | clothes object furniture vehicle opening
    blanco | white | branco | clothes object furniture vehicle opening animal
    negro | black | preto | clothes object furniture vehicle opening animal
    gris | gray | cinza/cinzas | clothes furniture vehicle opening
    marrón/marrones | brown | marrom | clothes furniture opening
    moderno | modern | moderno | furniture device room place vehicle
    antiguo | ancient | antigo | landmark castle church text
    viejo | old | velho | clothes object furniture vehicle instrument device person
    nuevo | new | novo | clothes object furniture vehicle instrument device text
    largo | long | longo | text event street river bridge road
    interesante | interesting | interessante | text idea event place art science
    aburrido | boring | chato | text event
    difícil | difficult | difícil | idea subject science exam class
    fácil | easy | fácil | idea subject
    importante | important | importante | idea event text person
    útil | useful | útil | object text idea device
    peligroso | dangerous | perigoso | animal landmark vehicle idea
    rápido | fast | rápido | vehicle animal
    lento | slow | lento | vehicle animal
    pesado | heavy | pesado | object furniture instrument
    ligero | light | leve | object clothes
    redondo | round | redondo | furniture object
    delicioso | delicious | delicioso | food dish drink
    dulce | sweet | doce | food
    salado | salty | salgado | dish
    saludable | healthy | saudável | food dish
    extraño | strange | estranho | object idea text event animal person
    divertido | fun | divertido | event text
    cómodo | comfortable | confortável | clothes furniture vehicle
    profundo | deep | profundo | lake sea river
    ancho | wide | largo | street river road
    estrecho | narrow | estreito | street path room
"""

STATE = """
    cansado | tired | cansado | person kin animal name infant
    contento | happy | contente | person kin name infant
    triste | sad | triste | person kin name infant
    enfermo | sick | doente | person kin animal name infant
    nervioso | nervous | nervoso | person kin animal name infant
    enojado | angry | zangado | person kin name
    preocupado | worried | preocupado | person kin name
    ocupado | busy | ocupado | person kin name
    solo | alone | sozinho | person kin name
    sorprendido | surprised | surpreso | person kin name
    tranquilo | calm | calmo | person kin animal name infant
    asustado | scared | assustado | person kin animal name infant
    borracho | drunk | bêbado | person name
    herido | injured | ferido | person animal name
    perdido | lost | perdido | person animal name
    mojado | wet | molhado | clothes animal furniture
    seco | dry | seco | clothes
    sucio | dirty | sujo | clothes object furniture room vehicle animal opening
    limpio | clean | limpo | clothes object furniture room vehicle
    roto | broken | quebrado | object furniture device instrument opening
    vacío | empty | vazio | room bottle box glass suitcase bag
    lleno | full | cheio | bottle box glass suitcase bag place
    abierto | open | aberto | opening place
    cerrado | closed | fechado | opening place
    frío | cold | frio | dish drink
    caliente | hot | quente | dish drink
    listo | ready | pronto | person kin name dish
    ordenado | tidy | arrumado | room
"""
