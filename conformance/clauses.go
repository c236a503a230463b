package conformance

import (
	"github.com/hasp-go/hasp/conformance/contract"
	"github.com/hasp-go/hasp/conformance/harness"
)

// Patience bounds every case.
const Patience = harness.Patience

// Clause returns the text of a clause of package backend's contract, such as "R3", or of what a
// primitive promises, such as "Lock.Waiting"; "" if there is none.
func Clause(number string) string {
	if text := contract.Clause(number); text != "" {
		return text
	}
	for _, c := range primitiveCases() {
		if c.Clause == number {
			return c.Text
		}
	}
	return ""
}
