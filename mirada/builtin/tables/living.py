"""Nouns for people and animals; see `tables` for how a line is read."""

TABLES: dict[str, str] = {
    "person": """
        el profesor, la profesora | teacher | o professor, a professora
        el hombre | man/men | o homem
        la mujer | woman/women | a mulher
        el niño | boy | o menino
        la niña | girl | a menina
        el amigo, la amiga | friend | o amigo, a amiga
        el médico, la médica | doctor | o médico, a médica
        el estudiante, la estudiante | student | o estudante, a estudante
        el vecino, la vecina | neighbor | o vizinho, a vizinha
        el jefe, la jefa | boss | o chefe, a chefe
        el abogado, la abogada | lawyer | o advogado, a advogada
        el enfermero, la enfermera | nurse | o enfermeiro, a enfermeira
        el mesero | waiter | o garçom
        el rey | king | o rei
        el cocinero, la cocinera | cook | o cozinheiro, a cozinheira
        el escritor, la escritora | writer | o escritor, a escritora
        el artista, la artista | artist | o artista, a artista
        la reina | queen | a rainha
        el ingeniero, la ingeniera | engineer | o engenheiro, a engenheira
        el periodista, la periodista | journalist | o jornalista, a jornalista
        el cantante, la cantante | singer | o cantor, a cantora
        el pintor, la pintora | painter | o pintor, a pintora
        el turista, la turista | tourist | o turista, a turista
        el bailarín/bailarines, la bailarina | dancer | o dançarino, a dançarina
        el dentista, la dentista | dentist | o dentista, a dentista
        el científico, la científica | scientist | o cientista, a cientista
        el panadero, la panadera | baker | o padeiro, a padeira
        el vendedor, la vendedora | seller | o vendedor, a vendedora
        el chofer, la chofer | driver | o motorista, a motorista
        el jardinero, la jardinera | gardener | o jardineiro, a jardineira
        el soldado, la soldado | soldier | o soldado, a soldado
        el juez/jueces, la jueza | judge | o juiz/juízes, a juíza
        el director, la directora | director | o diretor, a diretora
        el secretario, la secretaria | secretary | o secretário, a secretária
        el campesino, la campesina | farmer | o agricultor, a agricultora
        el carpintero, la carpintera | carpenter | o carpinteiro, a carpinteira
        el compañero, la compañera | classmate | o colega, a colega
        el huésped/huéspedes, la huésped/huéspedes | guest | o hóspede, a hóspede
        el alcalde, la alcaldesa | mayor | o prefeito, a prefeita
        el actor | actor | o ator
        la actriz | actress | a atriz
        la mesera | waitress | a garçonete
        el príncipe | prince | o príncipe
        la princesa | princess | a princesa
        el ladrón/ladrones | thief/thieves | o ladrão/ladrões
        la bruja | witch | a bruxa
        el policía | policeman/policemen | o policial
        el astronauta, la astronauta | astronaut | o astronauta, a astronauta
        el piloto, la piloto | pilot | o piloto, a piloto
        el bombero, la bombera | firefighter | o bombeiro, a bombeira
        el arquitecto, la arquitecta | architect | o arquiteto, a arquiteta
        el poeta, la poeta | poet | o poeta, a poeta
        el viajero, la viajera | traveler | o viajante, a viajante
        el pescador | fisherman/fishermen | o pescador
    """,
    "infant": """
        el bebé | baby | o bebê
    """,
    "kin": """
        el padre | father | o pai
        la madre | mother | a mãe
        el hermano | brother | o irmão/irmãos
        la hermana | sister | a irmã
        el hijo | son | o filho
        la hija | daughter | a filha
        el abuelo | grandfather | o avô
        la abuela | grandmother | a avó
        el tío | uncle | o tio
        la tía | aunt | a tia
        el primo, la prima | cousin | o primo, a prima
        el sobrino | nephew | o sobrinho
        la sobrina | niece | a sobrinha
        el marido | husband | o marido
        la esposa | wife/wives | a esposa
        el nieto | grandson | o neto
        la nieta | granddaughter | a neta
    """,
    "wild": """
        la ballena | whale | a baleia
        el delfín/delfines | dolphin | o golfinho
        la abeja | bee | a abelha
        la mariposa | butterfly | a borboleta
        el tiburón/tiburones | shark | o tubarão/tubarões
        la araña | spider | a aranha
        la mosca | fly | a mosca
    """,
    "animal": """
        el gato | cat | o gato
        el perro | dog | o cachorro
        el animal | animal | o animal
        el caballo | horse | o cavalo
        la vaca | cow | a vaca
        el pájaro | bird | o pássaro
        el conejo | rabbit | o coelho
        el ratón/ratones | mouse/mice | o rato
        la oveja | sheep/sheep | a ovelha
        el cerdo | pig | o porco
        el zorro | fox | a raposa
        la gallina | hen | a galinha
        la paloma | pigeon | o pombo
        el pato | duck | o pato
        el león/leones | lion | o leão/leões
        el tigre | tiger | o tigre
        el elefante | elephant | o elefante
        el mono | monkey | o macaco
        el oso | bear | o urso
        el lobo | wolf/wolves | o lobo
        la tortuga | turtle | a tartaruga
        la serpiente | snake | a cobra
        la jirafa | giraffe | a girafa
        el burro | donkey | o burro
        la cabra | goat | a cabra
        la rana | frog | a rã
        el gallo | rooster | o galo
    """,
}

# Names of people, as `Spanish English Portuguese` where they differ.
WOMEN = "Ana, Carla, Clara, Diana, Elena Elena Helena, Julia Julia Júlia, Laura, Lucía Lucia Lúcia, Marta, Paula, Sara"
MEN = "Lucas, Pedro, Carlos, Daniel, David, Diego, Hugo, Bruno, Marcos, Mario Mario Mário, Miguel, Pablo"

# Stand-ins for people and things: nothing goes with them. The last two are said in negative clauses.
ANYONE = """
    alguien | someone | alguém
    todo el mundo | everyone | todo mundo
    nadie | nobody | ninguém
    nadie | anyone | ninguém
    nada | anything | nada
"""
