"""The pieces that do not inflect: adverbs, times, prepositions, conjunctions, numbers, greetings.

A line is `Spanish | English | Portuguese`; texts after ` / ` are as right as the first, which is the preferred one.
"""

# Two words in every language, but not in the same order.
CROSSED = frozenset({"see you"})

TABLES: dict[str, str] = {
    "frequency": """
        siempre | always | sempre
        nunca | never | nunca
        a veces | sometimes | às vezes
        casi siempre | almost always | quase sempre
        a menudo | often | muitas vezes / frequentemente
        todavía | still | ainda
        también | also | também
    """,
    "well": """
        bien | well | bem
        muy bien | very well | muito bem
        mal | badly | mal
    """,
    "much": """
        mucho | a lot | muito
        demasiado | too much | demais
    """,
    "fast": """
        rápidamente / rápido | quickly / fast | rapidamente / depressa / rápido
        lentamente / despacio | slowly | devagar / lentamente
    """,
    "early": """
        temprano | early | cedo
        tarde | late | tarde
    """,
    "here": """
        aquí | here | aqui
        allí | there | ali / lá
        en casa | at home | em casa
    """,
    "now": """
        ahora | now | agora
        en este momento | at the moment | neste momento
        hoy | today | hoje
    """,
    "habit": """
        todos los días / cada día | every day | todos os dias / todo dia
        los lunes | on Mondays | às segundas-feiras / nas segundas-feiras
        los martes | on Tuesdays | às terças-feiras / nas terças-feiras
        los miércoles | on Wednesdays | às quartas-feiras / nas quartas-feiras
        los jueves | on Thursdays | às quintas-feiras / nas quintas-feiras
        los viernes | on Fridays | às sextas-feiras / nas sextas-feiras
        los sábados | on Saturdays | aos sábados
        los domingos | on Sundays | aos domingos
        por la mañana | in the morning | de manhã
        por la tarde | in the afternoon | à tarde
        por la noche | at night | à noite
        todas las semanas / cada semana | every week | todas as semanas / toda semana
    """,
    "season": """
        todos los años / cada año | every year | todos os anos / todo ano
        todos los meses / cada mes | every month | todos os meses / todo mês
        en verano | in summer | no verão
        en invierno | in winter | no inverno
    """,
    "month": """
        en enero | in January | em janeiro
        en febrero | in February | em fevereiro
        en marzo | in March | em março
        en abril | in April | em abril
        en mayo | in May | em maio
        en junio | in June | em junho
        en julio | in July | em julho
        en agosto | in August | em agosto
        en septiembre | in September | em setembro
        en octubre | in October | em outubro
        en noviembre | in November | em novembro
        en diciembre | in December | em dezembro
    """,
    "day": """
        el lunes | on Monday | na segunda-feira
        el martes | on Tuesday | na terça-feira
        el miércoles | on Wednesday | na quarta-feira
        el jueves | on Thursday | na quinta-feira
        el viernes | on Friday | na sexta-feira
        el sábado | on Saturday | no sábado
        el domingo | on Sunday | no domingo
    """,
    "past": """
        ayer | yesterday | ontem
        anoche | last night | ontem à noite
        anteayer | the day before yesterday | anteontem
        el lunes pasado | last Monday | na segunda-feira passada
        el martes pasado | last Tuesday | na terça-feira passada
        el miércoles pasado | last Wednesday | na quarta-feira passada
        el jueves pasado | last Thursday | na quinta-feira passada
        el viernes pasado | last Friday | na sexta-feira passada
        el sábado pasado | last Saturday | no sábado passado
        el domingo pasado | last Sunday | no domingo passado
        esta mañana | this morning | hoje de manhã / esta manhã
    """,
    "past long": """
        la semana pasada | last week | na semana passada / semana passada
        el mes pasado | last month | no mês passado / mês passado
        el año pasado | last year | no ano passado / ano passado
        el verano pasado | last summer | no verão passado
    """,
    "future": """
        mañana | tomorrow | amanhã
        esta noche | tonight | hoje à noite / esta noite
        pasado mañana | the day after tomorrow | depois de amanhã
        más tarde | later | mais tarde
        pronto | soon | em breve / logo
    """,
    "future long": """
        la próxima semana / la semana que viene | next week | na próxima semana / na semana que vem
        el próximo mes / el mes que viene | next month | no próximo mês / no mês que vem
        el próximo año / el año que viene | next year | no próximo ano / no ano que vem
    """,
    "preposition": """
        en | in | em
        en | at | em
        sobre / encima de / en | on | em cima de / sobre / em
        debajo de | under | debaixo de / embaixo de
        cerca de | near | perto de
        lejos de | far from | longe de
        detrás de | behind | atrás de
        delante de | in front of | em frente a / na frente de
        al lado de | next to | ao lado de
        con | with | com
        sin | without | sem
        para | for | para
        de | from | de
    """,
    "duration": """
        durante | for | durante / por
        hace | ago | há
        desde hace | since | há
    """,
    "conjunction": """
        y | and | e
        pero | but | mas
        porque | because | porque
        cuando | when | quando
        mientras | while | enquanto
        así que | so | por isso / então
    """,
    "degree": """
        muy | very | muito
        bastante | quite | bastante
        demasiado | too | demais
        un poco | a little | um pouco
    """,
    "comparison": """
        más | more | mais
        menos | less | menos
        tan | as | tão
    """,
    "standard": """
        que | than | do que / que
        como | as | quanto / como
    """,
    "number": """
        dos | two | dois
        tres | three | três
        cuatro | four | quatro
        cinco | five | cinco
        seis | six | seis
        siete | seven | sete
        ocho | eight | oito
        nueve | nine | nove
        diez | ten | dez
        once | eleven | onze
        doce | twelve | doze
        quince | fifteen | quinze
        veinte | twenty | vinte
        treinta | thirty | trinta
    """,
    "age": """
        cuarenta | forty | quarenta
        cincuenta | fifty | cinquenta
        sesenta | sixty | sessenta
        setenta | seventy | setenta
        ochenta | eighty | oitenta
        noventa | ninety | noventa
    """,
    "question": """
        qué | what | o que
        quién | who | quem
        quién | whom | quem
        dónde | where | onde
        por qué | why | por que
        cuándo | when | quando
        cómo | how | como
    """,
    "greeting": """
        buenos días | good morning | bom dia
        buenas tardes | good afternoon | boa tarde
        buenas noches | good night | boa noite
        hola | hello / hi | olá / oi
        adiós | goodbye / bye | adeus / tchau
        gracias | thank you / thanks | obrigado / obrigada
        muchas gracias | thank you very much | muito obrigado / muito obrigada
        de nada | you're welcome | de nada
        felicidades | congratulations | parabéns
        buena suerte | good luck | boa sorte
        buen viaje | have a good trip | boa viagem
        feliz cumpleaños | happy birthday | feliz aniversário
        buen provecho | enjoy your meal | bom apetite
        perdón | sorry | desculpe
        feliz Navidad | merry Christmas | feliz Natal
        nos vemos | see you | nos vemos
    """,
}
