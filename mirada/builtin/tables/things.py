"""Nouns for what is eaten, worn, used and thought; see `tables` for how a line is read."""

TABLES: dict[str, str] = {
    "food": """
        la manzana | apple | a maçã
        el plátano | banana | a banana
        la naranja | orange | a laranja
        la fresa | strawberry | o morango
        la pera | pear | a pera
        la galleta | cookie | o biscoito
        el limón/limones | lemon | o limão/limões
        el tomate | tomato/tomatoes | o tomate
        la piña | pineapple | o abacaxi
        la papa | potato/potatoes | a batata
        la hamburguesa | hamburger | o hambúrguer
        la zanahoria | carrot | a cenoura
        la cebolla | onion | a cebola
        el huevo | egg | o ovo
        el pastel | cake | o bolo
        la ensalada | salad | a salada
        el sándwich/sándwiches | sandwich | o sanduíche
        la uva | grape | a uva
        el helado | ice cream | o sorvete
        la aceituna | olive | a azeitona
        el durazno | peach | o pêssego
        la cereza | cherry | a cereja
        la sandía | watermelon | a melancia
        el melón/melones | melon | o melão/melões
        el pepino | cucumber | o pepino
        el pimiento | pepper | o pimentão/pimentões
        la lechuga | lettuce | a alface
    """,
    "dish": """
        el pan | bread | o pão/pães
        el arroz | rice | o arroz
        la carne | meat | a carne
        el pescado | fish | o peixe
        el queso | cheese | o queijo
        la miel | honey | o mel
        la pasta | pasta | o macarrão/macarrões
        la sopa | soup | a sopa
        la sal | salt | o sal
        el pollo | chicken | o frango
        la crema | cream | o creme
        el chocolate | chocolate | o chocolate
        la mantequilla | butter | a manteiga
        el jamón/jamones | ham | o presunto
        la fruta | fruit | a fruta
        el maíz | corn | o milho
    """,
    "drink": """
        el agua f | water | a água
        la leche | milk | o leite
        el café | coffee | o café
        el té | tea | o chá
        el vino | wine | o vinho
        la cerveza | beer | a cerveja
        el jugo | juice | o suco
        la limonada | lemonade | a limonada
    """,
    "greenery": """
        la flor | flower | a flor
        la rosa | rose | a rosa
        la planta | plant | a planta
        la hoja | leaf/leaves | a folha
        el césped | lawn | o gramado
        el girasol | sunflower | o girassol
    """,
    "text": """
        el libro | book | o livro
        la carta | letter | a carta
        la novela | novel | o romance
        el periódico | newspaper | o jornal
        el mensaje | message | a mensagem
        la revista | magazine | a revista
        la postal | postcard | o cartão-postal/cartões-postais
        el poema | poem | o poema
        el cuento | story | o conto
        el artículo | article | o artigo
        el informe | report | o relatório
        el diccionario | dictionary | o dicionário
        la receta | recipe | a receita
        el cuaderno | notebook | o caderno
    """,
    "object": """
        la llave | key | a chave
        el teléfono | phone | o telefone
        el cuchillo | knife/knives | a faca
        la bolsa | bag | a sacola
        la taza | cup | a xícara
        la cuchara | spoon | a colher
        el tenedor | fork | o garfo
        el plato | plate | o prato
        el vaso | glass | o copo
        la lámpara | lamp | o abajur
        la botella | bottle | a garrafa
        el lápiz | pencil | o lápis/lápis
        el reloj | watch | o relógio
        la almohada | pillow | o travesseiro
        el juguete | toy | o brinquedo
        el bolígrafo | pen | a caneta
        la muñeca | doll | a boneca
        la servilleta | napkin | o guardanapo
        el mantel | tablecloth | a toalha de mesa/toalhas de mesa
        la pelota | ball | a bola
        la tarjeta | card | o cartão/cartões
        el bolso | purse | a bolsa
        la cámara | camera | a câmera
        la maleta | suitcase | a mala
        el boleto | ticket | a passagem
        la manta | blanket | o cobertor
        el paraguas/paraguas | umbrella | o guarda-chuva
        el regalo | gift | o presente
        la caja | box | a caixa
        el espejo | mirror | o espelho
        el cuadro | painting | o quadro
        el mapa | map | o mapa
        la foto | photo | a foto
        el martillo | hammer | o martelo
        la escoba | broom | a vassoura
        la toalla | towel | a toalha
        la moneda | coin | a moeda
        el anillo | ring | o anel
        el peine | comb | o pente
        el collar | necklace | o colar
        el paquete | package | o pacote
        la olla | pot | a panela
        el dibujo | drawing | o desenho
    """,
    "instrument": """
        la guitarra | guitar | o violão/violões
        el piano | piano | o piano
        el violín/violines | violin | o violino
        la trompeta | trumpet | o trompete
        la flauta | flute | a flauta
        el tambor | drum | o tambor
    """,
    "device": """
        la radio | radio | o rádio
        la computadora | computer | o computador
        la televisión/televisiones | television | a televisão/televisões
        la luz | light | a luz
        el refrigerador | refrigerator | a geladeira
        el horno | oven | o forno
        la lavadora | washing machine | a máquina de lavar/máquinas de lavar
        el ventilador | fan | o ventilador
        el motor | engine | o motor
        la impresora | printer | a impressora
    """,
    "clothes": """
        la camisa | shirt | a camisa
        la falda | skirt | a saia
        el vestido | dress | o vestido
        el guante | glove | a luva
        el sombrero | hat | o chapéu
        la bufanda | scarf/scarves | o cachecol
        el calcetín/calcetines | sock | a meia
        el zapato | shoe | o sapato
        el abrigo | coat | o casaco
        la chaqueta | jacket | a jaqueta
        la bota | boot | a bota
        el cinturón/cinturones | belt | o cinto
        la corbata | tie | a gravata
        el traje | suit | o terno
        la camiseta | T-shirt | a camiseta
        el suéter/suéteres | sweater | o suéter/suéteres
        la sandalia | sandal | a sandália
    """,
    "furniture": """
        la mesa | table | a mesa
        la silla | chair | a cadeira
        el escritorio | desk | a escrivaninha
        la cama | bed | a cama
        la alfombra | carpet | o tapete
        el sofá | sofa | o sofá
        el sillón/sillones | armchair | a poltrona
        la estantería | shelf/shelves | a estante
        el banco | bench | o banco
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
    """,
    "opening": """
        la puerta | door | a porta
        el cajón/cajones | drawer | a gaveta
        la ventana | window | a janela
        el armario | closet | o armário
    """,
    "notion": """
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
        la película | film | o filme
        la boda | wedding | o casamento
        el viaje | trip | a viagem
        el concierto | concert | o show
        el examen/exámenes | exam | a prova
        la cena | dinner | o jantar
        el partido | match | o jogo
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
    "sport": """
        el fútbol | soccer | o futebol
        el tenis | tennis | o tênis
        el ajedrez | chess | o xadrez
        el baloncesto | basketball | o basquete
        el voleibol | volleyball | o vôlei
        el béisbol | baseball | o beisebol
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
    "time": """
        la hora | hour | a hora
        el minuto | minute | o minuto
        el día | day | o dia
        la semana | week | a semana
        el mes/meses | month | o mês
        el año | year | o ano
    """,
}

# Kinds that are not counted: no plural, no "a".
MASS = frozenset({"dish", "drink", "subject", "science", "sport"})
