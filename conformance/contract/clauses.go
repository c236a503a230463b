package contract

import (
	_ "embed"
	"strings"
)

// clauses.txt repeats the contract, for the messages of failing cases; a test compares the two.
//
//go:embed clauses.txt
var clauses string

// Clause returns the text of a clause of package backend's contract, such as "R3"; "" if there is none.
func Clause(number string) string {
	_, text, _ := strings.Cut("\n\n"+clauses, "\n\n"+number+". ")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
