package extend

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives/lease"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestHoldIsSmall: a client may have a hundred thousand, and one more word costs 32 bytes of each.
func TestHoldIsSmall(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, unsafe.Sizeof(hold{}), uintptr(288))
}

// TestHoldReportsOneEnd: a release and the watchdog may find the end of one lease at the same time.
func TestHoldReportsOneEnd(t *testing.T) {
	t.Parallel()
	ends := 0
	core := &Core{opts: Options{Tracer: &trace.Tracer{LeaseEnd: func(trace.LeaseEnd) { ends++ }}}}
	h := &hold{object: &Object{core: core}}
	h.traceEnd(0, lease.ErrLost, nil)
	h.traceEnd(0, lease.ErrReleased, nil)
	require.Equal(t, 1, ends)
}
