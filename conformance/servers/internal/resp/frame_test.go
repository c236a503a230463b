package resp_test

import (
	"bufio"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

// TestReply reads each value twice, in pieces: neither takes a byte of the other's, and all bytes pass.
func TestReply(t *testing.T) {
	t.Parallel()
	text, number := backend.StringReply, backend.IntegerReply
	array := func(items ...backend.Reply) backend.Reply {
		return backend.ArrayReply(append([]backend.Reply{}, items...))
	}
	for wire, want := range map[string]backend.Reply{
		"+OK\r\n":                      text("OK"),
		":-7\r\n":                      number(-7),
		"$-1\r\n":                      {},
		"*-1\r\n":                      {},
		"_\r\n":                        {},
		"$0\r\n\r\n":                   text(""),
		"$4\r\na\r\nb\r\n":             text("a\r\nb"),
		"*0\r\n":                       array(),
		"*2\r\n:1\r\n$-1\r\n":          array(number(1), backend.Reply{}),
		"*1\r\n*1\r\n:1\r\n":           array(array(number(1))),
		"*1\r\n-ERR no\r\n":            array(text("ERR no")),
		"%1\r\n+a\r\n:1\r\n":           array(text("a"), number(1)),
		"~1\r\n+a\r\n":                 array(text("a")),
		">1\r\n+a\r\n":                 array(text("a")),
		",1.5\r\n":                     text("1.5"),
		"(12345678901234567890\r\n":    text("12345678901234567890"),
		"=5\r\ntxt:a\r\n":              text("a"),
		"|1\r\n+a\r\n:1\r\n+after\r\n": text("after"),
	} {
		in := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(wire+wire)), 16)
		for range 2 {
			got, raw, broken, err := read(in)
			require.NoError(t, errors.Join(broken, err), "%q", wire)
			require.Equal(t, want, got, "%q", wire)
			require.Equal(t, wire, string(raw))
		}
	}
}

func TestReplyErrors(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]*backend.ServerError{
		"-WRONGTYPE bad\r\n": {Code: "WRONGTYPE", Message: "bad"},
		"!6\r\nERR no\r\n":   {Code: "ERR", Message: "no"},
	} {
		_, _, _, err := read(bufio.NewReader(strings.NewReader(wire)))
		require.Equal(t, want, err, "%q", wire)
	}
	for _, wire := range []string{
		"", "$5\r\nab", "*1\r\n", ":x\r\n", "$x\r\n", "*-2\r\n", "\x00\r\n", "\r\n", "PING a\r\n", "*1\r\n\r\n",
		"$5\r\nabcdexx", "$3\r\nabcde\r\n", ":12x\r\n", "$536870913\r\n",
	} {
		_, raw, broken, err := read(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, errors.Join(broken, err), "%q", wire)
		require.True(t, strings.HasPrefix(wire, string(raw)), "%q of %q", raw, wire)
	}
}

// read reads one value, and returns it with the bytes that a proxy would pass on. broken says why
// there is none; err is the error reply that the value is.
func read(in *bufio.Reader) (reply backend.Reply, raw []byte, broken, err error) {
	f, broken := resp.Read(in)
	if broken != nil {
		return backend.Reply{}, f.Raw, broken, nil
	}
	reply, err = f.Reply()
	return reply, f.Raw, nil, err
}
