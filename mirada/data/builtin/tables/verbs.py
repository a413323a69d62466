"""The verbs: who can do what to what.

A line is `Spanish | English | Portuguese | subject kinds > object kinds | flags`. Words after a verb are said right
after it: a preposition it governs ("look for") or the rest of an idiom ("be hungry"). English `+on` is a particle that
an object pronoun goes before ("turn it on"); -se is a reflexive; ` / ` separates verbs that are as right as the first.
Kinds are those of the noun tables, English nouns, or the groups below; `-` takes one away. The flags:

    state       no progressive; its past is the imperfect
    move        no progressive, but an event
    in, home, out, shop, garden     naturally followed by such a place
    well, much, fast                adverbs it takes
    it          takes object pronouns
    to          never "give him a book", only "give a book to him"
    dative      Spanish says it the other way round: "me gusta"
"""

GROUPS: dict[str, str] = {
    "human": "person kin name",
    "living": "person kin name animal infant",
    "edible": "food dish",
    "goods": "object clothes text instrument",
    "ride": "car bicycle motorcycle boat truck",
    "bought": "object clothes text instrument food dish car bicycle motorcycle boat truck furniture flower rose plant",
    "tangible": "object clothes text instrument furniture vehicle device opening",
    "seen": "person kin name infant animal wild object vehicle landmark greenery",
    "shop": "market store supermarket",
    "crossed": "street river bridge road square",
    "pet": "cat dog horse rabbit bird",
    "liked": "food dish drink animal wild science sport event art text ride",
}

INTRANSITIVE = """
    trabajar | work | trabalhar | human | in well much fast
    llorar | cry | chorar | human infant | much
    dormir | sleep | dormir | living | in well much
    correr | run | correr | living | in much fast
    cantar | sing | cantar | human | in well
    bailar | dance | dançar | human | in well
    nadar | swim | nadar | human dog duck frog turtle whale dolphin shark | well fast
    volar | fly | voar | bird duck pigeon bee butterfly fly | fast
    caminar | walk | caminhar / andar | living | in much fast
    sonreír | smile | sorrir | human infant | much
    viajar | travel | viajar | human | much
    descansar | rest | descansar | living | in much
    cocinar | cook | cozinhar | human | in well
    gritar | shout | gritar | human infant | much
    esperar | wait | esperar | human | in
    saltar | jump | pular / saltar | living | much
    jugar | play | brincar | infant pet boy girl monkey | in much
    hablar | talk | falar / conversar | human | much fast
    mentir | lie | mentir | human | much
    fumar | smoke | fumar | human | much
    estornudar | sneeze | espirrar | human infant | much
    respirar | breathe | respirar | living | well
    conducir / manejar | drive | dirigir | human | well fast
    rezar | pray | rezar | human | in much
    vivir | live | morar / viver | human | state in
    despertarse | wake up | acordar | human infant
    levantarse | get up | levantar-se | human
    sentarse | sit down | sentar-se | human | in
    desayunar | have breakfast | tomar café da manhã | human | in
    almorzar | have lunch | almoçar | human | in
    cenar | have dinner | jantar | human | in
    ducharse | take a shower | tomar banho | human
    casarse | get married | casar-se | human
    reírse | laugh | rir | human infant | much
    caerse | fall | cair | human infant
    irse | leave | ir embora | human
    quedarse | stay | ficar | human | in
    quejarse | complain | reclamar | human | much
    dormirse | fall asleep | adormecer | human infant | in
    vestirse | get dressed | vestir-se | human
    acostarse | go to bed | deitar-se | human
    despedirse | say goodbye | despedir-se | human
    bañarse | take a bath | tomar banho de banheira | human
"""

IDIOMS = """
    tener hambre | be hungry | estar com fome | living | state
    tener sed | be thirsty | estar com sede | living | state
    tener sueño | be sleepy | estar com sono | human infant | state
    tener miedo | be afraid | estar com medo | living | state
    tener frío | be cold | estar com frio | living | state
    tener prisa | be in a hurry | estar com pressa | human | state
    tener calor | be hot | estar com calor | living | state
    tener fiebre | have a fever | estar com febre | human infant | state
    tener dolor de cabeza | have a headache | estar com dor de cabeça | human | state
    tener razón | be right | ter razão | human | state
    tener suerte | be lucky | ter sorte | human | state
    tener vergüenza | be ashamed | estar com vergonha | human | state
    estar de vacaciones | be on vacation | estar de férias | human | state
"""

WEATHER = """
    llover | rain | chover | name
    nevar | snow | nevar | name
    hacer frío | be cold | fazer frio / estar frio | name | state
    hacer calor | be hot | fazer calor / estar quente | name | state
    hacer sol | be sunny | fazer sol | name | state
"""

TRANSITIVE = """
    comer | eat | comer | living > edible | it in
    tener | have | ter | human > goods pet ride problem idea plan secret brother sister son daughter cousin | state
    querer | want | querer | human > goods food dish drink ride | state
    ver | see | ver | living > seen | move out
    comprar | buy | comprar | human > bought | it shop
    leer | read | ler | human > text | it in
    ayudar | help | ajudar | human > human | it
    abrir | open | abrir | human > opening box bottle suitcase bag book letter | it
    beber | drink | beber | human > drink | it in
    necesitar | need | precisar de | human > goods doctor lawyer friend nurse cook secretary ride | state
    escribir | write | escrever | human > letter novel poem message story article report recipe postcard | it in
    visitar | visit | visitar | human > human country place | it
    buscar | look for | procurar | human > seen goods place | in
    cruzar | cross | atravessar / cruzar | human animal > crossed | it
    amar / querer | love | amar | human > human | state it
    encontrar | find | encontrar | human > goods person kin name pet | it in
    cerrar | close | fechar | human > opening box bottle suitcase bag book | it
    conocer | know | conhecer | human > human | state it
    limpiar | clean | limpar | human > furniture room device window | it
    lavar | wash | lavar | human > clothes ride pet cup plate glass spoon fork knife | it
    vender | sell | vender | human > bought | it shop
    escuchar | listen to | ouvir / escutar | human > art radio person kin name
    traer | bring | trazer | human > object text food dish | it
    jugar a | play | jogar | human > sport | in well
    tocar | play | tocar | human > instrument art | it in
    usar | use | usar | human > object device dictionary | it
    cocinar | cook | cozinhar | human > rice meat fish soup chicken pasta potato egg carrot | it home
    estudiar | study | estudar | human > subject science | in
    aprender | learn | aprender | human > subject | in
    hablar | speak | falar | human > subject | well
    invitar | invite | convidar | human > human | it
    llamar | call | chamar | human > human | it
    esperar | wait for | esperar | human > human vehicle | in
    reparar | repair | consertar | human > device ride furniture door window bridge | it
    ver | watch | assistir a | human > film match television concert | in
    preparar | prepare | preparar | human > soup salad cake sandwich pasta coffee tea breakfast lunch dinner | it home
    cortar | cut | cortar | human > bread cheese meat ham apple orange cake onion tomato carrot lawn rose | it
    probar | taste | provar | human > dish drink food | it
    pelar | peel | descascar | human > apple orange banana pear potato carrot onion egg | it
    traducir | translate | traduzir | human > text | it
    publicar | publish | publicar | human > book novel poem story article report photo | it
    llevar | carry | carregar / levar | human > object text food | it
    perder | lose | perder | human > object clothes text | it in
    romper | break | quebrar | human > device window door chair cup plate glass bottle lamp mirror umbrella toy | it
    pintar | paint | pintar | human > door window furniture house wall bridge boat room | it
    encender | turn +on | ligar | human > device | it
    apagar | turn +off | desligar | human > device | it
    conducir / manejar | drive | dirigir | human > car bus truck taxi motorcycle | it
    cantar | sing | cantar | human > art | it in
    mirar | look at | olhar para | human > seen
    besar | kiss | beijar | human > human | it
    abrazar | hug | abraçar | human > human | it
    saludar | greet | cumprimentar | human > human | it
    odiar | hate | odiar | human > human dish drink | state
    admirar | admire | admirar | human > human | state it
    entender | understand | entender | human > subject notion science person kin name | move
    recordar | remember | lembrar de | human > notion event person kin name | move
    olvidar | forget | esquecer | human > object notion clothes text | move it
    enseñar | teach | ensinar | human > subject science | in
    explicar | explain | explicar | human > problem question answer idea plan rule lesson exercise mistake | it
    resolver | solve | resolver | human > problem exercise | it
    organizar | organize | organizar | human > party meeting class concert match wedding trip dinner | it
    preferir | prefer | preferir | human > liked | state
    perseguir | chase | perseguir | human animal > animal thief boy girl | it out
    morder | bite | morder | dog cat horse wolf snake monkey > person kin name | it
    alimentar | feed | alimentar | human > animal baby | it out
    regar | water | regar | human > greenery | it garden
    plantar | plant | plantar | human > flower rose plant tree sunflower | it garden
    dibujar | draw | desenhar | human > animal greenery landmark | it out
    vigilar | guard | vigiar | human > house bridge tower building castle prison door | it
    recibir | receive | receber | human > text object | it
    mandar | send | mandar / enviar | human > letter message report postcard photo gift | it
    esconder | hide | esconder | human > object text | it home
    guardar | keep | guardar | human > object text secret | it home
    robar | steal | roubar | human > object ride painting | it
    construir | build | construir | human > house bridge tower building wall boat | it
    usar | wear | usar | human > clothes
    celebrar | celebrate | comemorar / celebrar | human > wedding party | it
    respetar | respect | respeitar | human > human rule | state it
    salvar | save | salvar | human > human animal | it
    fotografiar | photograph | fotografar | human > human animal landmark | it out
    criticar | criticize | criticar | human > human text notion | it
    empujar | push | empurrar | human > furniture car truck bicycle person | it
    mover | move | mover | human > furniture box suitcase piano | it
    responder | answer | responder a | human > question letter message
    ganar | win | ganhar | human > match
    pagar | pay for | pagar | human > dinner lunch breakfast trip hotel coffee
    seguir | follow | seguir | human animal > person kin name animal rule path | it
"""

MOTION = """
    ir a | go to | ir a | human > place | move
    volver a | return to | voltar a | human > place | move
    llegar a | arrive at | chegar a | human > place -city -village -forest
    correr a | run to | correr para | human > place
    entrar en | enter | entrar em | human animal > room place
    salir de | leave | sair de | human > room place
    caminar hasta | walk to | caminhar até / andar até | human > place
    viajar a | travel to | viajar para | human > country | move
    volver a | return to | voltar a | human > country | move
"""

GIVING = """
    dar | give | dar | human > object text clothes food
    mandar | send | mandar / enviar | human > letter message report postcard photo gift
    mostrar | show | mostrar | human > object text clothes ride pet
    prestar | lend | emprestar | human > object book dictionary clothes ride instrument
    contar | tell | contar | human > story secret truth
    explicar | explain | explicar | human > problem question answer idea plan rule lesson exercise mistake | to
    vender | sell | vender | human > object ride furniture instrument | shop
    enseñar | teach | ensinar | human > subject science
    leer | read | ler | human > story letter poem newspaper
    devolver | give +back | devolver | human > object text clothes | to
"""

# Verbs that take a clause with "that".
CLAUSAL = """
    decir | say | dizer | human
    pensar | think | achar / pensar | human | state
    creer | believe | acreditar | human | state
    saber | know | saber | human | state
    explicar | explain | explicar | human
    responder | answer | responder | human
"""

# Verbs that take an infinitive.
CONTROL = """
    poder | can | poder | human | state
    necesitar | need to | precisar | human | state
    querer | want to | querer | human | state
    deber | must | dever | human | state
    tener que | have to | ter que | human | state
    preferir | prefer to | preferir | human | state
    esperar | hope to | esperar | human | state
    intentar / tratar de | try to | tentar | human
    decidir | decide to | decidir | human
    prometer | promise to | prometer | human
"""

# Verbs that the grammar uses by name: the name stands in the fourth cell.
SPECIAL = """
    ser | be | ser | be | state
    estar | be | estar | be there | state
    estar | be | ficar | be located | state
    gustar | like | gostar de | like | state dative
    gustar | like to | gostar de | like to | state dative
    encantar | love | adorar | adore | state dative
    haber | be | haver / ter | exist | state
    tener | be | ter | be aged | state
    ir | go | ir | go | move
"""
