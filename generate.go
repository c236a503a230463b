package hasp

//go:generate go run ./luagen ./primitives/internal/script
//go:generate go run ./luagen doc -title "The primitives' scripts" -o docs/scripts.md ./primitives/internal/script
