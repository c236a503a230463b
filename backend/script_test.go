package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

func TestNewScript(t *testing.T) {
	t.Parallel()
	s := backend.NewScript("one", "return 1", 2, backend.RetryRepeatable)
	require.Equal(t, &backend.Script{
		Name: "one", Source: "return 1", Keys: 2, Retry: backend.RetryRepeatable,
		SHA1: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", // as SCRIPT LOAD answers
	}, s)
}

func TestRetry(t *testing.T) {
	t.Parallel()
	require.Equal(t, backend.RetryNever, (&backend.Script{}).Retry, "the careful class is the zero value")
	for class, name := range map[backend.Retry]string{
		backend.RetryNever: "never", backend.RetryRepeatable: "safe", backend.RetryReadOnly: "readonly", 9: "unknown",
	} {
		require.Equal(t, name, class.String())
		require.Equal(t, class != backend.RetryReadOnly, class.Writes())
	}
}
