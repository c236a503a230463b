package extend

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestHoldIsSmall: a client may have a hundred thousand, and one more word costs 32 bytes of each.
func TestHoldIsSmall(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, unsafe.Sizeof(hold{}), uintptr(288))
}
