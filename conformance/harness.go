package conformance

import "github.com/hasp-go/hasp/conformance/harness"

// Patience bounds every case.
const Patience = harness.Patience

// Harness is what the suite needs to judge an adapter against one server or cluster.
type Harness = harness.Harness

// Instance is one backend, with the client that it was made from.
type Instance = harness.Instance

// Case is one thing that a clause of a contract asks for.
type Case = harness.Case
