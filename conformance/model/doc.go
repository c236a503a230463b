// Package model holds a sequential model of each primitive: what it may answer, and what it is
// after that, if calls come one after the other. Package history compares recorded histories with
// them, and the properties of package conformance single answers.
package model
