package hasp

//go:generate go run ./luagen ./primitives/internal/script
