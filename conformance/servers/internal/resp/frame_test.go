package resp_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

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
		got, _, broken, err := read(bufio.NewReader(strings.NewReader(wire)))
		require.NoError(t, errors.Join(broken, err), "%q", wire)
		require.Equal(t, want, got, "%q", wire)
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
	} {
		_, _, broken, err := read(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, errors.Join(broken, err), "%q", wire)
	}
}

// plan is what values are drawn from; once it is used up, all are nil.
type plan struct{ rest []byte }

func (p *plan) byte() byte {
	if len(p.rest) == 0 {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

func (p *plan) text() string {
	n := min(int(p.byte()), len(p.rest))
	text := string(p.rest[:n])
	p.rest = p.rest[n:]
	return text
}

// value draws one value, and returns what it looks like on the wire of RESP2, or in a form of
// RESP3, and the reply that it is.
func (p *plan) value(depth int) (wire string, reply backend.Reply) {
	switch kind := p.byte() % 10; kind {
	case 1:
		n := int64(p.byte()) - 128
		return fmt.Sprintf(":%d\r\n", n), backend.IntegerReply(n)
	case 2, 3:
		text := p.text()
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text), backend.StringReply(text)
	case 4:
		text := fmt.Sprintf("%x", p.text())
		return "+" + text + "\r\n", backend.StringReply(text)
	case 5:
		text := "txt:" + p.text()
		return fmt.Sprintf("=%d\r\n%s\r\n", len(text), text), backend.StringReply(text[4:])
	case 6, 7, 8, 9:
		if depth == 0 {
			return "*-1\r\n", backend.Reply{}
		}
		return p.aggregate(depth, "%*~>"[kind-6])
	}
	return []string{"$-1\r\n", "*-1\r\n", "_\r\n"}[int(p.byte())%3], backend.Reply{}
}

// aggregate draws an array, a set, a push or a map, which the first kind of them is.
func (p *plan) aggregate(depth int, kind byte) (wire string, reply backend.Reply) {
	n := int(p.byte()) % 5
	wire = fmt.Sprintf("%c%d\r\n", kind, n)
	if kind == '%' {
		n *= 2
	}
	items := make([]backend.Reply, n)
	for i := range items {
		var item string
		item, items[i] = p.value(depth - 1)
		wire += item
	}
	return wire, backend.ArrayReply(items)
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

// FuzzFrames draws values, writes them one behind the other and reads them back, in pieces: none
// may take a byte of another's, and all bytes pass.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{1, 129, 2, 3, 'a', '\r', '\n', 7, 2, 1, 1, 7, 1, 0, 5, 1, 'x', 6, 1, 4, 0, 2, 0}, false)
	f.Add([]byte("\x07\x04\x03\x02$1\x03\x05-ERR\x01\x08\x02\x09\x01\x00\x02"), true)
	f.Fuzz(func(t *testing.T, drawn []byte, dribble bool) {
		p := &plan{rest: drawn}
		var wires []string
		var replies []backend.Reply
		var stream bytes.Buffer
		for len(p.rest) > 0 {
			wire, reply := p.value(4)
			if len(p.rest)%7 == 0 {
				wire = "|1\r\n+ttl\r\n:1\r\n" + wire // An attribute belongs to what follows.
			}
			stream.WriteString(wire)
			wires, replies = append(wires, wire), append(replies, reply)
		}
		in := bufio.NewReaderSize(pieces(&stream, dribble), 16)
		for i, wire := range wires {
			reply, raw, broken, err := read(in)
			require.NoError(t, broken, "%q", wire)
			require.NoError(t, err)
			require.Equal(t, wire, string(raw))
			require.Equal(t, replies[i], reply, "%q", wire)
		}
		_, _, broken, _ := read(in)
		require.Equal(t, io.EOF, broken)
	})
}

func pieces(all io.Reader, dribble bool) io.Reader {
	if dribble {
		return iotest.OneByteReader(all)
	}
	return iotest.HalfReader(all)
}

// FuzzFrameBytes reads any bytes: what is read is passed on as it came, means the same alone, and
// means the same whatever follows.
func FuzzFrameBytes(f *testing.F) {
	for _, seed := range []string{
		"PING a\r\n", "\r\n", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "$5\r\nabcdexx", "$5\r\nab", "$536870912\r\n", "*-2\r\n",
		"|1\r\n+a\r\n+b\r\n", "*1\r\n\r\n", "%1\r\n+a\r\n", ":12x\r\n", "-NOSCRIPT x\r\n", "*1\r\n-ERR\r\n",
		"$+1\r\na\r\n", "+a\n", "#t\r\n,1.5\r\n(12\r\n", "=5\r\ntxt:a\r\n", "\x00\r\n", "$3\r\nabcde\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(input), 16)
		rest := input
		for {
			reply, raw, broken, err := read(in)
			require.True(t, bytes.HasPrefix(rest, raw), "%q of %q", raw, rest)
			if broken != nil {
				return
			}
			rest = rest[len(raw):]
			require.True(t, bytes.HasSuffix(raw, []byte("\n")), "%q", raw)
			behind := append(bytes.Clone(raw), "$1\r\nx\r\n"...)
			again, rawAgain, broken, errAgain := read(bufio.NewReader(bytes.NewReader(behind)))
			require.NoError(t, broken)
			require.Equal(t, reply, again)
			require.Equal(t, err, errAgain)
			require.Equal(t, raw, rawAgain)
		}
	})
}
