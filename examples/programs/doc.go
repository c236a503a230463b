// Package programs has programs of at most 40 lines each. Each one is a folder with a test, which runs the
// program on the server inside the test's process and on a real one, and takes its lock away.
//
// The folders examples/httplimit and examples/httpidem have further ones.
//
// docs/comparison.md has their lengths next to the lengths of the same programs with other libraries.
package programs
