package hasp

//go:generate go run ./luagen -strict ./primitives/internal/script
//go:generate go run ./luagen doc -strict -title "The primitives' scripts" -o primitives/internal/script/README.md ./primitives/internal/script
