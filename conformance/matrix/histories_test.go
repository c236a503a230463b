package matrix

import (
	"testing"

	"github.com/hasp-go/hasp/conformance"
)

// TestHistories checks recorded histories of every primitive, in virtual time.
func TestHistories(t *testing.T) {
	t.Parallel()
	conformance.RunHistories(t, embeddedHarness())
}
