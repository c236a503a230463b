//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestServe: the page of an object gets what happens to it, in order, and its button frees it.
func TestServe(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	address, serve := served(t, server, "m")
	next := happenings(t, address+"live?name=m")
	require.Equal(t, "gone", next().Kind)

	_, owner := holding(t, server, []string{"lock", "m", "--kind", "mutex"})
	require.Equal(t, happening{"acquired", owner}, next())
	for _, c := range []struct {
		name, owner string
		code        int
	}{{"m", "another", http.StatusConflict}, {"m", owner, http.StatusOK}, {"not-named", owner, http.StatusNotFound}} {
		freed := must(release(t, address, url.Values{"kind": {"mutex"}, "name": {c.name}, "owner": {c.owner}}))(t)
		require.Equal(t, c.code, freed)
	}
	require.Equal(t, happening{"released", owner}, next())
	require.Regexp(t, `^20\d\d/\S+ \S+ hasp: release of the mutex "m", held by "another", for 127.0.0.1: freed: false, error: <nil>\n`+
		`[^\n]*"`+owner+`"[^\n]*freed: true[^\n]*\n$`, serve.errors.String())

	second := ended(t, 70, onServer(server.Addr()), "serve", "m", "--listen", must(url.Parse(address))(t).Host)
	require.Contains(t, second.errors.String(), "address already in use")
}

// TestServeFindsAll: without names the page has all objects, those that come later, too; with --plain also a latch, which
// is a text as others store it.
func TestServeFindsAll(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	address, _ := served(t, server, "--plain")
	lines := stream(t, address+"live")
	for _, args := range []string{"lock first -- sleep 1000", "slot second -n 2 -- sleep 1000", "latch init third 3"} {
		start(t, []string{onServer(server.Addr())}, words(args)...)
	}
	for missing := map[string]bool{`data: "first"`: true, `data: "second"`: true, `data: "third"`: true}; len(missing) > 0; {
		require.True(t, lines.Scan(), "%v: %v", missing, lines.Err())
		delete(missing, lines.Text())
	}
	metrics := stream(t, address+"metrics")
	for metrics.Scan() && !strings.HasPrefix(metrics.Text(), "hasp_page_reads_total ") {
	}
	require.Regexp(t, "^hasp_page_reads_total [1-9]", metrics.Text(), "the list takes its turns")
}

// served starts hasp serve, and returns its address.
func served(t *testing.T, server *servers.Server, args ...string) (address string, h *hasp) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(secret), 0o600))
	h = start(t, []string{onServer(server.Addr())}, append([]string{"serve", "--listen", "127.0.0.1:0", "--allow-release", "--token-file", file}, args...)...)
	eventually(t, func() bool { return strings.HasSuffix(h.output.String(), "/\n") })
	return strings.TrimSpace(h.output.String()), h
}

// happening is an event on the page.
type happening struct{ Kind, Owner string }

// stream returns the lines of a stream of events.
func stream(t *testing.T, address string) *bufio.Scanner {
	t.Helper()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	request.Header.Set("Authorization", "Bearer "+secret)
	answer := must(http.DefaultClient.Do(request))(t)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return bufio.NewScanner(answer.Body)
}

// happenings returns what reads the next event of a stream.
func happenings(t *testing.T, address string) func() happening {
	t.Helper()
	lines := stream(t, address)
	return func() (h happening) {
		event := ""
		for lines.Scan() {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is && event == "event: happened" {
				require.NoError(t, json.Unmarshal([]byte(data), &h))
				return h
			}
			event = lines.Text()
		}
		require.NoError(t, lines.Err())
		return h
	}
}

// release asks the page to free a lock, as its button does.
func release(t *testing.T, address string, form url.Values) (code int, err error) {
	t.Helper()
	request := must(http.NewRequestWithContext(t.Context(), http.MethodPost, address+"release", strings.NewReader(form.Encode())))(t)
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Origin", strings.TrimSuffix(address, "/"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}
