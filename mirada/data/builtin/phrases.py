"""The pieces that do not inflect: adverbs, times, prepositions, conjunctions, numbers.

A line is `Spanish | English | Portuguese`; texts after ` / ` are as right as the first, which is the preferred one.
"""

TABLES: dict[str, str] = {
    "frequency": """
        siempre | always | sempre
        nunca | never | nunca
        a veces | sometimes | às vezes
        casi siempre | almost always | quase sempre
        a menudo | often | muitas vezes
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
    "here": """
        aquí | here | aqui
        allí | there | ali / lá
    """,
    "now": """
        ahora | now | agora
        en este momento | at the moment | neste momento
        hoy | today | hoje
        esta mañana | this morning | esta manhã
        esta tarde | this afternoon | esta tarde
    """,
    "habit": """
        todos los días | every day | todos os dias
        todas las semanas | every week | todas as semanas
        los lunes | on Mondays | às segundas-feiras
        los martes | on Tuesdays | às terças-feiras
        los miércoles | on Wednesdays | às quartas-feiras
        los jueves | on Thursdays | às quintas-feiras
        los viernes | on Fridays | às sextas-feiras
        los sábados | on Saturdays | aos sábados
        los domingos | on Sundays | aos domingos
        por la mañana | in the morning | de manhã
        por la tarde | in the afternoon | à tarde
        por la noche | at night | à noite
        en enero | in January | em Janeiro / em janeiro
        en febrero | in February | em Fevereiro / em fevereiro
        en marzo | in March | em Março / em março
        en abril | in April | em Abril / em abril
        en mayo | in May | em Maio / em maio
        en junio | in June | em Junho / em junho
        en julio | in July | em Julho / em julho
        en agosto | in August | em Agosto / em agosto
        en septiembre | in September | em Setembro / em setembro
        en octubre | in October | em Outubro / em outubro
        en noviembre | in November | em Novembro / em novembro
        en diciembre | in December | em Dezembro / em dezembro
    """,
    "preposition": """
        en | in | em
        en | at | em
        sobre / encima de / en | on | em cima de / sobre / em
        debajo de | under | debaixo de
        cerca de | near | perto de
        detrás de | behind | atrás de
        al lado de | next to | ao lado de
        con | with | com
        sin | without | sem
        para | for | para
        de | of | de
        de | from | de
        a | to | a
    """,
    "conjunction": """
        y | and | e
        pero | but | mas
        porque | because | porque
        cuando | when | quando
        que | that | que
    """,
    "degree": """
        muy | very | muito
        demasiado | too | demais
        un poco | a little | um pouco
        bastante | quite | bastante
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
        doce | twelve | doze
        quince | fifteen | quinze
        veinte | twenty | vinte
    """,
    "question": """
        qué | what | o que
        quién | who | quem
        dónde | where | onde
        por qué | why | por que
        cuándo | when | quando
    """,
}
