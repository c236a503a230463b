package primitives_test

import (
	"os"
	"testing"

	"github.com/hasp-go/hasp/backend/embedded"
)

// TestMain writes which lines of the scripts run, for "make luacover".
func TestMain(m *testing.M) {
	os.Exit(embedded.CoverLua(m.Run, "../../primitives/internal/script", os.Getenv("LUACOVER")))
}
