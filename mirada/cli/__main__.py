from mirada.cli import main

main()
