package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPicture draws the dashboard with the answers of a server that is no Prometheus.
func TestPicture(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data": {"result": [{"metric": {"kind": "lock"}, "values": [[%s, "1"], [%s, "NaN"]]}]}}`,
			r.FormValue("start"), r.FormValue("end"))
	}))
	defer server.Close()
	var out strings.Builder
	file := filepath.Join("..", "..", "integration", "prometheus", "dashboard.json")
	require.NoError(t, run([]string{"-dashboard", file, "-prometheus", server.URL}, &out))
	for _, text := range []string{"<svg", ">Wait<", "> lock: 99 %<", ">Renewal lag<"} {
		require.Contains(t, out.String(), text)
	}
	require.NotContains(t, out.String(), "NaN")
}

func TestAnswerIsAnError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"error": "unknown function"}`)
	}))
	defer server.Close()
	_, err := prometheus{address: server.URL}.ask("x()", "")
	require.ErrorContains(t, err, "x(): unknown function")
}
