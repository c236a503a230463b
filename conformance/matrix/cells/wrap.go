package cells

import "github.com/hasp-go/hasp/conformance/harness"

// Runner is a backend whose calls somebody gets.
type Runner = harness.Runner
