// Package contract judges a backend by the contract of package backend: it has cases for each of the
// contract's clauses. Package conformance runs them.
package contract
