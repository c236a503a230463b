package servers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/backend"
)

// errProtocol means that what was read is neither RESP2 nor RESP3.
var errProtocol = errors.New("malformed RESP")

// bulkPiece is how much of a string is read at a time.
const bulkPiece = 64 << 10

// frame is one RESP value, a request or a reply, with the bytes that it was read from.
type frame struct {
	kind  byte // the type byte; 0 for an inline request
	text  string
	items []frame
	null  bool
	raw   []byte // of the outermost frame only
}

// readFrame reads the next value, of RESP2 or RESP3, or an inline request.
func readFrame(in *bufio.Reader) (frame, error) {
	r := frameReader{in: in}
	f, err := r.value()
	f.raw = r.raw
	return f, err
}

type frameReader struct {
	in  *bufio.Reader
	raw []byte
}

func (r *frameReader) line() (string, error) {
	start := len(r.raw)
	for {
		part, err := r.in.ReadSlice('\n')
		r.raw = append(r.raw, part...)
		if err == nil {
			return strings.TrimRight(string(r.raw[start:]), "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}

// bulk reads n bytes and the line end after them. It takes memory as the bytes come, and keeps those
// that came if the connection ends.
func (r *frameReader) bulk(n int) (string, error) {
	start := len(r.raw)
	for left := n + 2; left > 0; {
		piece := min(left, bulkPiece)
		at := len(r.raw)
		r.raw = append(r.raw, make([]byte, piece)...)
		got, err := io.ReadFull(r.in, r.raw[at:])
		if r.raw, left = r.raw[:at+got], left-got; err != nil {
			return "", err
		}
	}
	text, found := strings.CutSuffix(string(r.raw[start:]), "\r\n")
	if !found {
		return "", fmt.Errorf("%w: %d bytes without a line end", errProtocol, n)
	}
	return text, nil
}

func (r *frameReader) value() (frame, error) {
	line, err := r.line()
	if err != nil || line == "" {
		return frame{}, err
	}
	f := frame{kind: line[0], text: line[1:]}
	switch f.kind {
	case '+', '-', ':', ',', '#', '(':
		return f, nil
	case '_':
		f.null = true
		return f, nil
	case '$', '!', '=', '*', '>', '~', '%', '|':
		return r.sized(f)
	}
	if !isInline(line) {
		return frame{}, fmt.Errorf("%w: %q", errProtocol, line)
	}
	return inline(line), nil
}

// sized reads the body of a value that begins with its length.
func (r *frameReader) sized(f frame) (frame, error) {
	n, err := strconv.Atoi(f.text)
	if err != nil || n < -1 || n > 1<<29 {
		return frame{}, fmt.Errorf("%w: length %q", errProtocol, f.text)
	}
	f.text = ""
	if n == -1 {
		f.null = true
		return f, nil
	}
	switch f.kind {
	case '$', '!', '=':
		f.text, err = r.bulk(n)
		return f, err
	case '%', '|':
		n *= 2
	}
	for range n {
		item, err := r.value()
		if err != nil {
			return frame{}, err
		}
		f.items = append(f.items, item)
	}
	if f.kind == '|' { // An attribute belongs to the value that follows it.
		return r.value()
	}
	return f, nil
}

// isInline reports whether line may be a request typed by hand: it begins with a command's name.
func isInline(line string) bool {
	c := line[0] | 0x20
	return c >= 'a' && c <= 'z'
}

func inline(line string) frame {
	var f frame
	for _, word := range strings.Fields(line) {
		f.items = append(f.items, frame{kind: '$', text: word})
	}
	return f
}

// words returns the strings of an array, as those of a request.
func (f frame) words() []string {
	words := make([]string, len(f.items))
	for i, item := range f.items {
		words[i] = item.text
	}
	return words
}

// reply returns the value as a Reply; an error reply becomes the error.
func (f frame) reply() (backend.Reply, error) {
	switch {
	case f.null:
		return backend.Reply{}, nil
	case f.kind == '-', f.kind == '!':
		return backend.Reply{}, backend.ParseServerError(f.text)
	case f.kind == ':':
		n, err := strconv.ParseInt(f.text, 10, 64)
		return backend.IntegerReply(n), err
	case f.kind == '=':
		_, text, _ := strings.Cut(f.text, ":")
		return backend.StringReply(text), nil
	case f.items == nil && strings.IndexByte("*>~%", f.kind) < 0:
		return backend.StringReply(f.text), nil
	}
	items := make([]backend.Reply, len(f.items))
	for i, item := range f.items {
		// An error within an array stays readable: transactions answer so.
		if items[i], _ = item.reply(); item.kind == '-' || item.kind == '!' {
			items[i] = backend.StringReply(item.text)
		}
	}
	return backend.ArrayReply(items), nil
}
