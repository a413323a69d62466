"""The verbs: who can do what to what, the three languages side by side.

A line is `Spanish | English | Portuguese | subject kinds > object kinds | flags`. A word after a verb is the
preposition it governs ("look for"); English `+on` is a particle that an object pronoun goes before ("turn it on").
Kinds are those of the noun tables, English nouns, or the groups below. Flags: `state` (no progressive; its past is the
imperfect), `move` (no progressive, but an event), `in` (is naturally followed by a place), `well`, `much` and `fast`
(adverbs it takes), `it` (takes object pronouns).
"""

GROUPS: dict[str, str] = {
    "human": "person kin name",
    "living": "person kin name animal infant",
    "edible": "food dish",
    "goods": "object clothes text instrument",
    "carried": "object text food",
    "bought": "object clothes text instrument food dish vehicle furniture plant",
    "tangible": "object clothes text instrument furniture vehicle device opening",
    "seen": "person kin name infant animal object vehicle landmark plant",
    "crossed": "street river bridge road",
    "liked": "food dish drink animal clothes science event art",
}

INTRANSITIVE = """
    trabajar | work | trabalhar | human | in well much fast
    llorar | cry | chorar | human infant | much
    dormir | sleep | dormir | living | in well much
    correr | run | correr | living | in much fast
    cantar | sing | cantar | human | in well
    bailar | dance | dançar | human | in well
    nadar | swim | nadar | human animal | well fast
    caminar | walk | caminhar | living | in much fast
    sonreír | smile | sorrir | human infant | much
    viajar | travel | viajar | human | much
    descansar | rest | descansar | living | in much
    cocinar | cook | cozinhar | human | in well
    gritar | shout | gritar | human infant | much
    esperar | wait | esperar | human | in
    saltar | jump | pular | living | much
    jugar | play | brincar | infant animal boy girl | in much
    hablar | talk | falar | human | much fast
    mentir | lie | mentir | human | much
    reír | laugh | rir | human infant | much
    fumar | smoke | fumar | human | much
    estornudar | sneeze | espirrar | human infant | much
    respirar | breathe | respirar | living | well
    conducir | drive | dirigir | human | well fast
    rezar | pray | rezar | human | in much
    vivir | live | morar | human | state in
"""

TRANSITIVE = """
    comer | eat | comer | living > edible | it
    beber | drink | beber | human > drink
    cocinar | cook | cozinhar | human > rice meat fish soup chicken pasta potato egg carrot | it
    preparar | prepare | preparar | human > soup salad cake sandwich pasta coffee tea breakfast lunch dinner | it
    cortar | cut | cortar | human > food dish plant | it
    probar | taste | provar | human > dish drink food | it
    pelar | peel | descascar | human > food | it
    leer | read | ler | human > text | it
    escribir | write | escrever | human > text | it
    traducir | translate | traduzir | human > text | it
    publicar | publish | publicar | human > text | it
    comprar | buy | comprar | human > bought | it
    vender | sell | vender | human > bought | it
    llevar | carry | levar | human > carried | it
    traer | bring | trazer | human > carried | it
    buscar | look for | procurar | human > seen goods place
    encontrar | find | encontrar | human > goods person kin name | it
    perder | lose | perder | human > object clothes text | it
    usar | use | usar | human > object device | it
    romper | break | quebrar | human > object device opening furniture | it
    lavar | wash | lavar | human > clothes vehicle animal | it
    limpiar | clean | limpar | human > furniture room device opening | it
    pintar | paint | pintar | human > opening furniture landmark room | it
    reparar | repair | consertar | human > device vehicle furniture opening | it
    abrir | open | abrir | human > opening text | it
    cerrar | close | fechar | human > opening text | it
    encender | turn +on | ligar | human > device | it
    apagar | turn +off | desligar | human > device | it
    conducir | drive | dirigir | human > vehicle | it
    tocar | play | tocar | human > instrument art | it
    cantar | sing | cantar | human > art | it
    escuchar | listen to | ouvir | human > art person kin name
    ver | see | ver | living > seen | move it
    mirar | look at | olhar para | human > seen
    ayudar | help | ajudar | human > human | it
    visitar | visit | visitar | human > human country place | it
    llamar | call | chamar | human > human | it
    besar | kiss | beijar | human > human | it
    abrazar | hug | abraçar | human > human | it
    saludar | greet | cumprimentar | human > human | it
    invitar | invite | convidar | human > human | it
    querer | love | amar | human > human animal | state it
    conocer | know | conhecer | human > human country | state it
    odiar | hate | odiar | human > human dish drink | state
    admirar | admire | admirar | human > human | state it
    necesitar | need | precisar de | human > goods person vehicle idea | state
    tener | have | ter | human > goods animal vehicle idea kin | state
    querer | want | querer | human > goods food dish drink vehicle | state
    entender | understand | entender | human > subject idea science person kin name | move
    recordar | remember | lembrar de | human > idea event person kin name | move
    olvidar | forget | esquecer | human > object idea clothes text | it
    aprender | learn | aprender | human > subject
    estudiar | study | estudar | human > subject science
    enseñar | teach | ensinar | human > subject science
    hablar | speak | falar | human > subject
    explicar | explain | explicar | human > idea science | it
    resolver | solve | resolver | human > problem exercise | it
    organizar | organize | organizar | human > event | it
    preferir | prefer | preferir | human > liked | state
    cruzar | cross | atravessar | living > crossed | it
    perseguir | chase | perseguir | living > animal person | it
    morder | bite | morder | animal > animal person kin name | it
    alimentar | feed | alimentar | human > animal | it
    regar | water | regar | human > plant | it
    plantar | plant | plantar | human > plant | it
    dibujar | draw | desenhar | human > animal plant landmark | it
    vigilar | guard | vigiar | human > landmark object | it
    recibir | receive | receber | human > text object person | it
    mandar | send | mandar | human > text object | it
    esconder | hide | esconder | human > object text | it
    guardar | keep | guardar | human > object text secret | it
    robar | steal | roubar | human > object vehicle | it
    construir | build | construir | human > landmark furniture | it
    esperar | wait for | esperar | human > human vehicle
    usar | wear | usar | human > clothes
    celebrar | celebrate | comemorar | human > event | it
    respetar | respect | respeitar | human > human rule | state it
    salvar | save | salvar | human > human animal | it
    fotografiar | photograph | fotografar | human > human animal landmark | it
    criticar | criticize | criticar | human > human idea | it
    empujar | push | empurrar | human > furniture vehicle person kin name | it
    mover | move | mover | human > furniture object | it
    comparar | compare | comparar | human > text object idea
"""

# Motion to a place, and being from one.
MOTION = """
    ir a | go to | ir a | human > place
    volver a | return to | voltar a | human > place
    llegar a | arrive at | chegar a | human > place
    correr a | run to | correr para | living > place
    entrar en | enter | entrar em | living > room place
    salir de | leave | sair de | human > room place
    caminar a | walk to | caminhar até | human > place
    viajar a | travel to | viajar para | human > country
"""

# Verbs that the grammar uses by name.
SPECIAL = """
    ser | be | ser | name | state
    gustar | like | gostar de | human > liked | state
"""
