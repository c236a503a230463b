package matrix

import (
	"testing"

	"github.com/hasp-go/hasp/conformance"
)

// TestProperties drives every primitive beside its exact model, in virtual time.
func TestProperties(t *testing.T) {
	t.Parallel()
	conformance.RunProperties(t, embeddedHarness())
}
