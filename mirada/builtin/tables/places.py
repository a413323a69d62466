"""Nouns for places, and the names of countries and cities; see `tables` for how a line is read."""

TABLES: dict[str, str] = {
    "room": """
        la cocina | kitchen | a cozinha
        el baño | bathroom | o banheiro
        el salón/salones | living room | a sala
        el dormitorio | bedroom | o quarto
        el garaje | garage | a garagem
        el jardín/jardines | garden | o jardim
        el comedor | dining room | a sala de jantar/salas de jantar
        el pasillo | hallway | o corredor
        el patio | yard | o quintal
        el sótano | basement | o porão/porões
    """,
    "place": """
        la escuela | school @at | a escola
        el hospital | hospital @at | o hospital
        el parque | park | o parque
        la oficina | office @at | o escritório
        la playa | beach @at | a praia
        el mercado | market @at | o mercado
        el museo | museum @at | o museu
        el restaurante | restaurant @at | o restaurante
        la biblioteca | library @at | a biblioteca
        el bosque | forest | a floresta
        la iglesia | church @at | a igreja
        la tienda | store @at | a loja
        el hotel | hotel @at | o hotel
        el aeropuerto | airport @at | o aeroporto
        la estación/estaciones | station @at | a estação/estações
        la plaza | square | a praça
        el teatro | theater @at | o teatro
        el cine | cinema @at | o cinema
        la universidad | university @at | a universidade
        la farmacia | pharmacy @at | a farmácia
        la panadería | bakery @at | a padaria
        la ciudad | city | a cidade
        el pueblo | village | o vilarejo
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
        la calle | street | a rua
        el río | river | o rio
        el árbol | tree | a árvore
        la montaña | mountain | a montanha
        el mar | sea | o mar
        el lago | lake | o lago
        el paisaje | landscape | a paisagem
        la isla | island | a ilha
        la torre | tower | a torre
        el edificio | building | o prédio
        la fuente | fountain | a fonte
        el camino | path | o caminho
        la carretera | road | a estrada
        el muro | wall | o muro
        la cascada | waterfall | a cachoeira
    """,
}

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
