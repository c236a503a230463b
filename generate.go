package hasp

//go:generate go run ./luagen -strict ./primitives/internal/script
//go:generate go run ./luagen doc -strict -title "The primitives' scripts" -o docs/scripts.md ./primitives/internal/script
