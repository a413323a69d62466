"""The verbs: who can do what to what.

A line is `Spanish | English | Portuguese | subject kinds > object kinds | flags`. Words after a verb are said right
after it: a preposition it governs ("look for") or the rest of an idiom ("be hungry"); "one's" is said as the subject's
"his", "my", …. English `+on` is a particle that an object pronoun goes before ("turn it on"); -se is a reflexive; ` / `
separates verbs that are as right as the first. Kinds are those of the noun tables, English nouns, or the groups below;
`-` takes one away. The flags:

    state       no progressive; its past is the imperfect
    move        no progressive, but an event
    unwilled    nobody plans it, wants it or is asked for it
    mishap      unwilled, and told only once it has happened
    morning, evening    when it is done
    long        may go on for weeks: "in January", "last year"
    slow        takes no less than that: not "yesterday"
    brief       done in a moment: nobody plans it for a day
    rare        nobody does it every week
    at, how     never without its place, or an adverb
    @…          where it is naturally done: one of the `SPOTS`
    abroad      done in countries, too
    with        done with others
    well, much, fast, early     adverbs it takes
    it          takes object pronouns
    get, gone   its object is not there before, or after
    make        its object comes into being, so it is not old or dirty yet
    care        done for someone who is sad or sick
    out         hindered by bad weather
    to          never "give him a book", only "give a book to him"
    dative      Spanish says it the other way round: "me gusta"
    ing         English takes a gerund after it: "stop working"

and the feelings of `FEELINGS`: of a verb, what such a feeling makes one do; of a state, which of them it is.
"""

FEELINGS = "hungry thirsty sleepy ill happy sad angry scared hurried cold hot idle worried"

GROUPS: dict[str, str] = {
    "human": "person kin name",
    "living": "person kin name animal infant",
    "edible": "food dish -salt",
    "goods": "object clothes text instrument",
    "ride": "car bicycle motorcycle boat truck",
    "bought": "object clothes text instrument food dish car bicycle motorcycle boat truck furniture flower rose plant",
    "tangible": "object clothes instrument furniture vehicle device opening letter postcard notebook dictionary book",
    "seen": "person kin name infant animal wild object vehicle landmark greenery",
    "crossed": "street river bridge road square",
    "pet": "cat dog horse rabbit bird",
    "liked": "food dish drink animal wild science sport event art text ride",
    "fragile": "window door chair cup plate glass bottle lamp mirror umbrella toy",
    "readable": "text -notebook -dictionary",
    "tiny": "key knife spoon fork pencil pen watch card ticket photo coin ring comb necklace letter postcard",
}

SPOTS: dict[str, str] = {
    "@work": "office hospital school factory restaurant store museum library airport hotel pharmacy university bakery",
    "@study": "library school university bedroom living_room garden",
    "@meal": "kitchen dining_room restaurant garden hotel office park beach",
    "@kitchen": "kitchen restaurant yard garden",
    "@rest": "bedroom living_room hotel garden beach park yard",
    "@show": "theater square living_room garden school restaurant kitchen",
    "@talk": "kitchen living_room office park restaurant school square hallway garden",
    "@wait": "station airport office school hospital square park restaurant hotel hallway",
    "@home": "kitchen living_room bedroom garden dining_room yard garage basement",
    "@out": "park garden beach yard square forest village",
    "@swim": "swimming_pool beach lake river sea",
    "@live": "city village house castle hotel",
    "@shop": "market store supermarket",
    "@garden": "garden yard park",
}

INTRANSITIVE = """
    desayunar | have breakfast | tomar café da manhã | human | @meal with early morning hungry
    trabajar | work | trabalhar | human | @work with well much long abroad
    levantarse | get up | levantar-se | human | how early morning
    dormir | sleep | dormir | living | @rest well much sleepy ill
    quedarse | stay | ficar | human | move at @rest ill sad sleepy abroad
    cenar | have dinner | jantar | human | @meal with early evening hungry
    irse | leave | ir embora | human | early hurried angry scared
    llorar | cry | chorar | human infant | much unwilled sad scared
    almorzar | have lunch | almoçar | human | @meal with hungry
    ducharse | take a shower | tomar banho | human | hot
    vivir | live | morar / viver | human | state at @live with abroad long
    cepillarse los dientes | brush one's teeth | escovar os dentes | human | brief
    acostarse | go to bed | deitar-se | human | early evening sleepy ill
    correr | run | correr | human animal -snake | @out much fast out hurried scared
    lavarse las manos | wash one's hands | lavar as mãos | human | brief
    despertarse | wake up | acordar | human infant | how early morning unwilled
    cantar | sing | cantar | human | @show with well happy
    bailar | dance | dançar | human | @show with well happy
    quitarse los zapatos | take off one's shoes | tirar os sapatos | human | brief hot
    nadar | swim | nadar | human dog duck frog turtle whale dolphin shark | @swim well fast out hot idle
    ponerse el abrigo | put on one's coat | vestir o casaco | human | brief cold hurried
    descansar | rest | descansar | living | @rest much sleepy ill idle
    sentarse | sit down | sentar-se | human | brief @talk sleepy
    caminar | walk | caminhar / andar | human animal -snake | @out with much fast out
    reírse | laugh | rir | human infant | much unwilled happy
    viajar | travel | viajar | human | with much long abroad out idle
    cocinar | cook | cozinhar | human | @kitchen with well hungry
    caerse | fall | cair | human infant | mishap @out
    sonreír | smile | sorrir | human infant | much unwilled happy
    dormirse | fall asleep | adormecer | human infant | mishap @rest sleepy
    hablar | talk | falar / conversar | human | @talk with much fast
    quejarse | complain | reclamar | human | much unwilled angry
    esperar | wait | esperar | human | @wait with
    casarse | get married | casar-se | human | rare long
    gritar | shout | gritar | human infant | much unwilled angry scared
    jugar | play | brincar | infant pet boy girl monkey | @out much happy
    volar | fly | voar | bird duck pigeon bee butterfly fly | fast
    saltar | jump | pular / saltar | human animal -snake | brief much happy
    vestirse | get dressed | vestir-se | human | brief hurried
    conducir / manejar | drive | dirigir | human | well fast hurried
    mentir | lie | mentir | human | much unwilled
    fumar | smoke | fumar | human | much worried
    rezar | pray | rezar | human | much scared worried
    despedirse | say goodbye | despedir-se | human | hurried
    estornudar | sneeze | espirrar | human infant | much unwilled
    respirar | breathe | respirar | living | well unwilled
    bañarse | take a bath | tomar banho de banheira | human | cold
"""

IDIOMS = """
    tener hambre | be hungry | estar com fome | living | state hungry
    tener sed | be thirsty | estar com sede | living | state thirsty
    tener sueño | be sleepy | estar com sono | human infant | state sleepy hinders
    tener miedo | be afraid | estar com medo | living | state scared hinders
    doler la cabeza | have a headache | estar com dor de cabeça | human | state dative ill hinders
    tener frío | be cold | estar com frio | living | state cold
    tener prisa | be in a hurry | estar com pressa | human | state hurried hinders
    tener calor | be hot | estar com calor | living | state hot
    tener fiebre | have a fever | estar com febre | human infant | state ill hinders
    estar de vacaciones | be on vacation | estar de férias | human | state idle
    doler el estómago | have a stomachache | estar com dor de barriga | human | state dative ill hinders
    tener razón | be right | ter razão | human | state
    tener suerte | be lucky | ter sorte | human | state
    doler la garganta | have a sore throat | estar com dor de garganta | human | state dative ill hinders
    tener vergüenza | be ashamed | estar com vergonha | human | state
    doler una muela | have a toothache | estar com dor de dente | human | state dative ill hinders
    doler la espalda | have a backache | estar com dor nas costas | human | state dative ill hinders
"""

WEATHER = """
    llover | rain | chover | name | hinders
    hacer frío | be cold | fazer frio / estar frio | name | state hinders cold
    nevar | snow | nevar | name | hinders
    hacer calor | be hot | fazer calor / estar quente | name | state hot
    hacer sol | be sunny | fazer sol / estar ensolarado | name | state idle
"""

TRANSITIVE = """
    comer | eat | comer | living > edible | it @meal hungry gone
    tener | have | ter | human > goods pet ride problem idea plan secret brother sister son daughter cousin | state
    necesitar | need | precisar de | human > goods doctor lawyer friend nurse cook secretary ride | state
    extrañar | miss | sentir falta de | human > person kin name pet | state it
    llamar | call | ligar para | human > human | it care worried
    querer | want | querer | human > goods food dish drink ride | state
    ver | see | ver | living > seen | move @out
    comprar | buy | comprar | human > bought | it @shop get
    leer | read | ler | human > readable | it @study idle
    ayudar | help | ajudar | human > human | it care
    cuidar | take care of | cuidar de | human > kin infant pet name friend neighbor boy girl | it care
    abrir | open | abrir | human > opening box bottle suitcase bag book letter | it
    beber / tomar | drink | beber / tomar | human > drink | it @meal thirsty gone
    mirar | look at | olhar para | human > seen | it
    visitar | visit | visitar | human > human country museum castle church zoo | it long care idle
    escribir | write | escrever | human > readable -newspaper -magazine | it @study make
    buscar | look for | procurar | human > person kin name pet goods place | it
    confiar en | trust | confiar em | human > human | state it
    cruzar | cross | atravessar / cruzar | human animal > crossed | it hurried
    amar / querer | love | amar | human > human | state it
    encontrar | find | encontrar | human > goods person kin name pet | it get unwilled
    conocer | know | conhecer | human > human | state it
    hablar con | talk to | falar com / conversar com | human > human | it @talk worried
    cerrar | close | fechar | human > opening box bottle suitcase bag book | it
    limpiar | clean | limpar | human > furniture room window | it
    lavar | wash | lavar | human > clothes ride pet cup plate glass spoon fork knife | it
    soñar con | dream about | sonhar com | human > person kin name animal | it unwilled
    vender | sell | vender | human > bought | it @shop gone
    escuchar | listen to | ouvir / escutar | human > art radio person kin name | it idle happy
    traer | bring | trazer | human > object text food dish | it get
    jugar a | play | jogar | human > sport | @out with well out idle
    tocar | play | tocar | human > instrument art | it @show idle happy
    usar | use | usar | human > knife spoon fork phone camera hammer broom pot dictionary computer map umbrella | it
    cocinar | cook | cozinhar | human > rice meat fish soup chicken pasta potato egg carrot | it @kitchen make hungry
    estudiar | study | estudar | human > subject science | @study with long
    aprender | learn | aprender | human > subject | slow long
    hablar | speak | falar | human > subject | well
    invitar | invite | convidar | human > human | it happy
    esperar | wait for | esperar por | human > human vehicle | @wait it
    casarse con | marry | casar-se com | human > person name | it rare long
    reparar | repair | consertar | human > device ride furniture door window bridge | it
    ver | watch | assistir a | human > film match television concert | idle
    preparar | prepare | preparar | human > soup salad pasta chicken breakfast lunch dinner | it @kitchen make hungry
    hacer | make | fazer | human > coffee tea cake salad sandwich soup lemonade juice | it @kitchen make
    tomar | take | pegar | human > bus train plane taxi boat | hurried
    pensar en | think about | pensar em | human > person kin name event problem plan idea | it
    enamorarse de | fall in love with | apaixonar-se por | human > person name | mishap it
    cortar | cut | cortar | human > bread cheese meat ham apple orange cake onion tomato carrot lawn rose | it
    probar | taste | provar | human > dish drink food | it
    pelar | peel | descascar | human > apple orange banana pear potato carrot onion egg | it
    traducir | translate | traduzir | human > readable | it
    publicar | publish | publicar | human > book novel poem story article report photo | it slow long
    llevar | carry | carregar / levar | human > object text food | it
    perder | lose | perder | human > object clothes text | it mishap gone
    romper | break | quebrar | human > device fragile | it mishap angry
    pintar | paint | pintar | human > door window furniture house wall bridge boat room | it long
    encender | turn +on | ligar | human > device | it
    apagar | turn +off | desligar | human > device | it
    conducir / manejar | drive | dirigir | human > car bus truck taxi motorcycle | it
    cantar | sing | cantar | human > art | it happy
    besar | kiss | beijar | human > human | it happy
    abrazar | hug | abraçar | human > human | it happy care
    saludar | greet | cumprimentar | human > human | it
    odiar | hate | odiar | human > human dish drink | state it
    admirar | admire | admirar | human > human | state it
    entender | understand | entender | human > subject notion person kin name | move it unwilled
    recordar | remember | lembrar de | human > notion event person kin name | move it unwilled
    olvidar | forget | esquecer | human > object notion clothes text | move it mishap gone
    enseñar | teach | ensinar | human > subject science | @study long
    explicar | explain | explicar | human > problem question answer idea plan rule lesson exercise mistake | it
    resolver | solve | resolver | human > problem exercise | it
    organizar | organize | organizar | human > party meeting class concert match wedding trip dinner | it long make
    preferir | prefer | preferir | human > liked | state
    perseguir | chase | perseguir | human animal > animal thief boy girl | it out
    morder | bite | morder | dog cat horse wolf snake monkey > person kin name | it unwilled angry scared
    alimentar | feed | dar comida a | human > animal infant | it
    regar | water | regar | human > flower rose plant lawn sunflower tree | it @garden
    plantar | plant | plantar | human > flower rose plant tree sunflower | it @garden make out
    dibujar | draw | desenhar | human > animal greenery landmark | it make idle
    vigilar | guard | vigiar | human > house bridge tower building castle prison door | it
    recibir | receive | receber | human > text object | it get unwilled
    mandar | send | mandar / enviar | human > letter message report postcard photo gift | it gone
    esconder | hide | esconder | human > object text | it @home scared
    guardar | keep | guardar | human > object text secret | it @home
    robar | steal | roubar | human > object ride painting | it get unwilled
    construir | build | construir | human > house bridge tower building wall boat | it slow long make
    usar | wear | usar | human > clothes |
    celebrar | celebrate | comemorar / celebrar | human > wedding party | happy
    respetar | respect | respeitar | human > human rule | state it
    salvar | save | salvar | human > human animal | it
    fotografiar | photograph | fotografar | human > human animal landmark | it idle
    criticar | criticize | criticar | human > human text notion | it angry
    empujar | push | empurrar | human > furniture car truck bicycle person | it
    mover | move | mover | human > furniture box suitcase piano | it
    responder a | answer | responder a | human > question letter message |
    ganar | win | ganhar | human > match |
    pagar | pay for | pagar | human > dinner lunch breakfast trip hotel coffee |
    seguir | follow | seguir | human animal > person kin name animal path | it
"""

MOTION = """
    ir a | go to | ir a | human > place | move out
    volver a | return to | voltar a | human > place | move out
    llegar a | arrive at | chegar a | human > place -city -village -forest | move early
    correr a | run to | correr para | human > place | out hurried scared
    entrar en | enter | entrar em | human > room place -beach -square -market | scared
    salir de | leave | sair de | human > room place | early hurried angry scared
    caminar hasta | walk to | caminhar até / andar até | human > place | out
    viajar a | travel to | viajar para | human > country | move long idle
    volver a | return to | voltar a | human > country | move long
"""

GIVING = """
    dar | give | dar | human > object text clothes food | happy
    mandar | send | mandar / enviar | human > letter message report postcard photo gift |
    mostrar | show | mostrar | human > object text clothes ride pet |
    traer | bring | trazer | human > object text clothes food flower rose | happy
    prestar | lend | emprestar | human > object book dictionary clothes ride instrument |
    contar | tell | contar | human > story secret truth |
    devolver | give +back | devolver | human > object text clothes | to
    explicar | explain | explicar | human > problem question answer idea plan rule lesson exercise mistake | to
    escribir | write | escrever | human > letter message postcard poem | make sad
    vender | sell | vender | human > object ride furniture instrument |
    enseñar | teach | ensinar | human > subject science | long
    leer | read | ler | human > story letter poem newspaper |
    ofrecer | offer | oferecer | human > food drink gift book |
"""

# Verbs that take a clause with "that"; the first ones are said of now, too.
CLAUSAL = """
    decir | say | dizer | human |
    pensar | think | achar / pensar | human | state
    creer | believe | acreditar | human | state
    saber | know | saber | human | state
    darse cuenta de | realize | perceber | human |
    explicar | explain | explicar | human |
    responder | answer | responder | human |
    soñar | dream | sonhar | human |
"""

# Verbs that take an infinitive.
CONTROL = """
    poder | can | poder | human | state
    tener ganas de | feel like | estar com vontade de | human | state ing
    querer | want to | querer | human | state
    necesitar | need to | precisar | human | state
    tener que | have to | ter que / ter de | human | state
    deber | must | dever | human | state
    empezar a | start to | começar a | human |
    dejar de | stop | parar de | human | ing
    preferir | prefer to | preferir | human | state
    pensar | plan to | pretender | human | state
    intentar / tratar de | try to | tentar | human |
    esperar | hope to | esperar | human | state
    decidir | decide to | decidir | human |
    prometer | promise to | prometer | human |
"""

# Verbs that the grammar uses by name: the name stands in the fourth cell.
SPECIAL = """
    ser | be | ser | be | state
    estar | be | estar | be there | state
    estar | be | ficar | be located | state
    ponerse | become / get | ficar | become |
    gustar | like | gostar de | like | state dative
    gustar | like to | gostar de | like to | state dative
    gustar | like to | gostar de | would like to | state dative
    encantar | love | adorar | adore | state dative
    interesar | be interested in | interessar-se por | care for | state dative
    dar miedo | be afraid of | ter medo de | fear | state dative
    parecer | find | achar | find | state dative
    haber | be | haver / ter | exist | state
    tener | be | ter | be aged | state
"""
