"""The nouns: a table per kind of thing, the three languages side by side.

A line is `Spanish | English | Portuguese`. The article gives the gender, a second form after a comma is the feminine of
a person's noun, `/` gives a plural that the rules would get wrong, and `@at` the English preposition of a place whose
preposition is not "in". The kind (the table's name) says what a noun can do: people eat food, not tables.
"""

TABLES: dict[str, str] = {
    "person": """
        el profesor, la profesora | teacher | o professor, a professora
        el médico, la médica | doctor | o médico, a médica
        el abogado, la abogada | lawyer | o advogado, a advogada
        el estudiante, la estudiante | student | o estudante, a estudante
        el vecino, la vecina | neighbor | o vizinho, a vizinha
        el amigo, la amiga | friend | o amigo, a amiga
        el enfermero, la enfermera | nurse | o enfermeiro, a enfermeira
        el cocinero, la cocinera | cook | o cozinheiro, a cozinheira
        el ingeniero, la ingeniera | engineer | o engenheiro, a engenheira
        el periodista, la periodista | journalist | o jornalista, a jornalista
        el artista, la artista | artist | o artista, a artista
        el cantante, la cantante | singer | o cantor, a cantora
        el escritor, la escritora | writer | o escritor, a escritora
        el pintor, la pintora | painter | o pintor, a pintora
        el jefe, la jefa | boss | o chefe, a chefe
        el turista, la turista | tourist | o turista, a turista
        el bailarín/bailarines, la bailarina | dancer | o dançarino, a dançarina
        el dentista, la dentista | dentist | o dentista, a dentista
        el científico, la científica | scientist | o cientista, a cientista
        el panadero, la panadera | baker | o padeiro, a padeira
        el vendedor, la vendedora | salesperson/salespeople | o vendedor, a vendedora
        el conductor, la conductora | driver | o motorista, a motorista
        el jardinero, la jardinera | gardener | o jardineiro, a jardineira
        el soldado, la soldado | soldier | o soldado, a soldado
        el juez/jueces, la jueza | judge | o juiz, a juíza
        el director, la directora | director | o diretor, a diretora
        el secretario, la secretaria | secretary | o secretário, a secretária
        el campesino, la campesina | farmer | o agricultor, a agricultora
        el carpintero, la carpintera | carpenter | o carpinteiro, a carpinteira
        el compañero, la compañera | classmate | o colega, a colega
        el huésped/huéspedes, la huésped/huéspedes | guest | o hóspede, a hóspede
        el alcalde, la alcaldesa | mayor | o prefeito, a prefeita
        el hombre | man/men | o homem
        la mujer | woman/women | a mulher
        el niño | boy | o menino
        la niña | girl | a menina
        el rey | king | o rei
        la reina | queen | a rainha
        el actor | actor | o ator
        la actriz | actress | a atriz
        el camarero | waiter | o garçom
        la camarera | waitress | a garçonete
        el príncipe | prince | o príncipe
        la princesa | princess | a princesa
        el ladrón/ladrones | thief/thieves | o ladrão/ladrões
        la bruja | witch | a bruxa
        el policía | policeman/policemen | o policial
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
    "animal": """
        el gato | cat | o gato
        el perro | dog | o cachorro
        el caballo | horse | o cavalo
        la vaca | cow | a vaca
        el pájaro | bird | o pássaro
        el animal | animal | o animal
        el conejo | rabbit | o coelho
        el ratón/ratones | mouse/mice | o rato
        la oveja | sheep/sheep | a ovelha
        el cerdo | pig | o porco
        la gallina | hen | a galinha
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
        el zorro | fox | a raposa
        la rana | frog | a rã
    """,
    "food": """
        la manzana | apple | a maçã
        la naranja | orange | a laranja
        el plátano | banana | a banana
        la pera | pear | a pera
        la fresa | strawberry | o morango
        el limón/limones | lemon | o limão/limões
        el tomate | tomato/tomatoes | o tomate
        la patata | potato/potatoes | a batata
        la zanahoria | carrot | a cenoura
        la cebolla | onion | a cebola
        el huevo | egg | o ovo
        el pastel | cake | o bolo
        la galleta | cookie | o biscoito
        la ensalada | salad | a salada
        el bocadillo | sandwich | o sanduíche
        la piña | pineapple | o abacaxi
        la uva | grape | a uva
        el helado | ice cream | o sorvete
        la hamburguesa | hamburger | o hambúrguer
        la aceituna | olive | a azeitona
        el melocotón/melocotones | peach | o pêssego
        la cereza | cherry | a cereja
    """,
    "dish": """
        el pan | bread | o pão/pães
        el arroz | rice | o arroz
        la carne | meat | a carne
        el pescado | fish | o peixe
        el queso | cheese | o queijo
        la sopa | soup | a sopa
        el pollo | chicken | o frango
        el chocolate | chocolate | o chocolate
        la mantequilla | butter | a manteiga
        el jamón/jamones | ham | o presunto
        la fruta | fruit | a fruta
        la miel | honey | o mel
        la pasta | pasta | o macarrão/macarrões
    """,
    "drink": """
        el agua f | water | a água
        la leche | milk | o leite
        el café | coffee | o café
        el té | tea | o chá
        el vino | wine | o vinho
        la cerveza | beer | a cerveja
        el zumo | juice | o suco
        la limonada | lemonade | a limonada
    """,
    "text": """
        el libro | book | o livro
        la carta | letter | a carta
        el periódico | newspaper | o jornal
        la revista | magazine | a revista
        la novela | novel | o romance
        el poema | poem | o poema
        el mensaje | message | a mensagem
        el cuento | story | o conto
        el artículo | article | o artigo
        el informe | report | o relatório
        el diccionario | dictionary | o dicionário
        la receta | recipe | a receita
        la postal | postcard | o cartão-postal/cartões-postais
        el cuaderno | notebook | o caderno
    """,
    "object": """
        la llave | key | a chave
        el teléfono | phone | o telefone
        la bolsa | bag | a sacola
        la taza | cup | a xícara
        el cuchillo | knife/knives | a faca
        la cuchara | spoon | a colher
        el tenedor | fork | o garfo
        el plato | plate | o prato
        el vaso | glass | o copo
        la botella | bottle | a garrafa
        el lápiz | pencil | o lápis/lápis
        el reloj | watch | o relógio
        el juguete | toy | o brinquedo
        la muñeca | doll | a boneca
        la pelota | ball | a bola
        la cámara | camera | a câmera
        la maleta | suitcase | a mala
        el paraguas/paraguas | umbrella | o guarda-chuva
        el regalo | gift | o presente
        la caja | box | a caixa
        el espejo | mirror | o espelho
        el cuadro | painting | o quadro
        la lámpara | lamp | a lâmpada
        el mapa | map | o mapa
        la foto | photo | a foto
        el martillo | hammer | o martelo
        la escoba | broom | a vassoura
        la toalla | towel | a toalha
        la almohada | pillow | o travesseiro
        la moneda | coin | a moeda
        el anillo | ring | o anel
    """,
    "instrument": """
        la guitarra | guitar | o violão/violões
        el piano | piano | o piano
        el violín/violines | violin | o violino
        la flauta | flute | a flauta
        el tambor | drum | o tambor
        la trompeta | trumpet | o trompete
    """,
    "device": """
        la radio | radio | o rádio
        la televisión/televisiones | television | a televisão/televisões
        el ordenador | computer | o computador
        la luz | light | a luz
        el horno | oven | o forno
        la lavadora | washing machine | a máquina de lavar/máquinas de lavar
        el ventilador | fan | o ventilador
        el motor | engine | o motor
    """,
    "clothes": """
        la camisa | shirt | a camisa
        la falda | skirt | a saia
        el vestido | dress | o vestido
        el sombrero | hat | o chapéu
        el zapato | shoe | o sapato
        el abrigo | coat | o casaco
        la chaqueta | jacket | a jaqueta
        el guante | glove | a luva
        la bufanda | scarf/scarves | o cachecol
        el calcetín/calcetines | sock | a meia
        la bota | boot | a bota
        el cinturón/cinturones | belt | o cinto
        la corbata | tie | a gravata
        el traje | suit | o terno
    """,
    "furniture": """
        la mesa | table | a mesa
        la silla | chair | a cadeira
        la cama | bed | a cama
        el sofá | sofa | o sofá
        el escritorio | desk | a escrivaninha
        la estantería | shelf/shelves | a estante
        la alfombra | carpet | o tapete
        el banco | bench | o banco
    """,
    "room": """
        la cocina | kitchen | a cozinha
        el baño | bathroom | o banheiro
        el dormitorio | bedroom | o quarto
        el jardín/jardines | garden | o jardim
        el salón/salones | living room | a sala
        el garaje | garage | a garagem
        el pasillo | hallway | o corredor
        el patio | yard | o quintal
        el comedor | dining room | a sala de jantar/salas de jantar
        el sótano | basement | o porão/porões
    """,
    "place": """
        la escuela | school | a escola
        el hospital | hospital | o hospital
        el parque | park | o parque
        la playa | beach @at | a praia
        el mercado | market @at | o mercado
        el museo | museum @at | o museu
        la oficina | office @at | o escritório
        el restaurante | restaurant @at | o restaurante
        la biblioteca | library | a biblioteca
        la iglesia | church | a igreja
        la tienda | store | a loja
        el hotel | hotel @at | o hotel
        el aeropuerto | airport @at | o aeroporto
        la estación/estaciones | station @at | a estação/estações
        la plaza | square | a praça
        el teatro | theater @at | o teatro
        el cine | cinema @at | o cinema
        la universidad | university @at | a universidade
        la farmacia | pharmacy | a farmácia
        la panadería | bakery | a padaria
        el bosque | forest | a floresta
        la ciudad | city | a cidade
        el pueblo | village | a aldeia
        el campo | countryside | o campo
        la piscina | swimming pool | a piscina
        la fábrica | factory @at | a fábrica
        el zoológico | zoo @at | o zoológico
        el castillo | castle | o castelo
        la cárcel | prison | a prisão/prisões
        el supermercado | supermarket @at | o supermercado
    """,
    "landmark": """
        la casa | house | a casa
        el puente | bridge | a ponte
        el río | river | o rio
        la montaña | mountain | a montanha
        el mar | sea | o mar
        el lago | lake | o lago
        la isla | island | a ilha
        la calle | street | a rua
        el árbol | tree | a árvore
        la torre | tower | a torre
        el edificio | building | o prédio
        la fuente | fountain | a fonte
        el camino | path | o caminho
        la carretera | road | a estrada
        el muro | wall | o muro
    """,
    "vehicle": """
        el coche | car | o carro
        el autobús/autobuses | bus | o ônibus/ônibus
        el tren | train | o trem
        la bicicleta | bicycle | a bicicleta
        el avión/aviones | plane | o avião/aviões
        el barco | boat | o barco
        la moto | motorcycle | a moto
        el camión/camiones | truck | o caminhão/caminhões
        el taxi | taxi | o táxi
        el metro | subway | o metrô
    """,
    "opening": """
        la puerta | door | a porta
        la ventana | window | a janela
        el cajón/cajones | drawer | a gaveta
        el armario | closet | o armário
    """,
    "plant": """
        la flor | flower | a flor
        la rosa | rose | a rosa
        la planta | plant | a planta
        la hoja | leaf/leaves | a folha
        la hierba | grass | a grama
        el girasol | sunflower | o girassol
    """,
    "idea": """
        el problema | problem | o problema
        la pregunta | question | a pergunta
        la respuesta | answer | a resposta
        la idea | idea | a ideia
        el plan | plan | o plano
        la verdad | truth | a verdade
        el secreto | secret | o segredo
        la palabra | word | a palavra
        el error | mistake | o erro
        el nombre | name | o nome
        la regla | rule | a regra
        la lección/lecciones | lesson | a lição/lições
        el ejercicio | exercise | o exercício
    """,
    "event": """
        la fiesta | party | a festa
        la reunión/reuniones | meeting | a reunião/reuniões
        la clase | class | a aula
        el concierto | concert | o show
        el partido | match | o jogo
        la película | film | o filme
        la boda | wedding | o casamento
        el viaje | trip | a viagem
        el examen/exámenes | exam | a prova
        la cena | dinner | o jantar
        el desayuno | breakfast | o café da manhã/cafés da manhã
        el almuerzo | lunch | o almoço
    """,
    "art": """
        la canción/canciones | song | a canção/canções
        la melodía | melody | a melodia
        el himno | anthem | o hino
    """,
    "subject": """
        el español | Spanish | o espanhol
        el inglés | English | o inglês
        el portugués | Portuguese | o português
        el francés | French | o francês
        el alemán | German | o alemão
        el japonés | Japanese | o japonês
        el italiano | Italian | o italiano
        el ruso | Russian | o russo
    """,
    "science": """
        la literatura | literature | a literatura
        la física | physics | a física
        la química | chemistry | a química
        la biología | biology | a biologia
        la geografía | geography | a geografia
        la filosofía | philosophy | a filosofia
        el derecho | law | o direito
        la medicina | medicine | a medicina
    """,
}

# Kinds that are not counted: no plural, no "a".
MASS = frozenset({"dish", "drink", "subject", "science"})

# Names of people, as `Spanish English Portuguese` where they differ.
WOMEN = "Ana, Carla, Clara, Diana, Elena Elena Helena, Julia Julia Júlia, Laura, Lucía Lucia Lúcia, Marta, Paula, Sara"
MEN = "Bruno, Carlos, Daniel, David, Diego, Hugo, Lucas, Marcos, Mario Mario Mário, Miguel, Pablo, Pedro"

# Countries and cities; an article in the Portuguese column is said there ("no Chile", but "em Portugal").
COUNTRIES = """
    Chile | Chile | o Chile
    España | Spain | a Espanha
    Portugal | Portugal | Portugal
    Brasil | Brazil | o Brasil
    Francia | France | a França
    Italia | Italy | a Itália
    Alemania | Germany | a Alemanha
    México | Mexico | o México
    Perú | Peru | o Peru
    Japón | Japan | o Japão
    Canadá | Canada | o Canadá
    Inglaterra | England | a Inglaterra
    Argentina | Argentina | a Argentina
    Colombia | Colombia | a Colômbia
    Rusia | Russia | a Rússia
    Grecia | Greece | a Grécia
    Egipto | Egypt | o Egito
    China | China | a China
    Madrid | Madrid | Madri
    Lisboa | Lisbon | Lisboa
    Londres | London | Londres
    París | Paris | Paris
    Roma | Rome | Roma
    Berlín | Berlin | Berlim
    Nueva York | New York | Nova York
    Tokio | Tokyo | Tóquio
"""
