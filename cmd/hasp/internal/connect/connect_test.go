package connect

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesInCertificates: of several hosts each has its own name, and sentinels have TLS as their servers have.
func TestNamesInCertificates(t *testing.T) {
	t.Parallel()
	for url, name := range map[string]string{
		"rediss://a": "a", "rediss://a:1,b:2": "", "rediss://a:1?sentinel_master=m": "",
	} {
		f := Flags{URL: url}
		o, err := f.options()
		require.NoError(t, err)
		require.Equal(t, name, o.TLSConfig.ServerName, url)
		require.Same(t, o.TLSConfig, o.Sentinel.TLSConfig)
	}
}
