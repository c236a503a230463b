// Package recipes has short programs to copy, one in each file. Its tests run them on the embedded server,
// and on a real one. docs/recipes.md shows them with the reasons.
package recipes
