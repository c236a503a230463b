// Package resp reads RESP2 and RESP3, as servers and clients speak them, and sends commands to servers.
package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// ErrMalformed means that what was read is neither RESP2 nor RESP3.
var ErrMalformed = errors.New("malformed RESP")

// bulkPiece is how much of a string is read at a time.
const bulkPiece = 64 << 10

// Frame is one RESP value, a request or a reply.
type Frame struct {
	// Kind is the type byte.
	Kind byte

	// Text is what a value that is no aggregate says, Items are the parts of one that is. Null says
	// that there are neither.
	Text  string
	Items []Frame
	Null  bool

	// Raw are the bytes that the frame was read from; of the outermost frame only.
	Raw []byte
}

// Read reads the next value, of RESP2 or RESP3. With an error the frame has the bytes that came.
func Read(in *bufio.Reader) (Frame, error) {
	r := reader{in: in}
	f, err := r.value()
	f.Raw = r.raw
	return f, err
}

type reader struct {
	in  *bufio.Reader
	raw []byte
}

func (r *reader) line() (string, error) {
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
func (r *reader) bulk(n int) (string, error) {
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
		return "", fmt.Errorf("%w: %d bytes without a line end", ErrMalformed, n)
	}
	return text, nil
}

func (r *reader) value() (Frame, error) {
	line, err := r.line()
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Text: line}
	if line != "" {
		f.Kind, f.Text = line[0], line[1:]
	}
	switch f.Kind {
	case '+', '-', ':', ',', '#', '(':
		return f, nil
	case '_':
		f.Null = true
		return f, nil
	case '$', '!', '=', '*', '>', '~', '%', '|':
		return r.sized(f)
	}
	return Frame{}, fmt.Errorf("%w: %q", ErrMalformed, line)
}

// sized reads the body of a value that begins with its length.
func (r *reader) sized(f Frame) (Frame, error) {
	n, err := strconv.Atoi(f.Text)
	if err != nil || n < -1 || n > 1<<29 {
		return Frame{}, fmt.Errorf("%w: length %q", ErrMalformed, f.Text)
	}
	f.Text = ""
	if n == -1 {
		f.Null = true
		return f, nil
	}
	switch f.Kind {
	case '$', '!', '=':
		f.Text, err = r.bulk(n)
		return f, err
	case '%', '|':
		n *= 2
	}
	for range n {
		item, err := r.value()
		if err != nil {
			return Frame{}, err
		}
		f.Items = append(f.Items, item)
	}
	if f.Kind == '|' { // An attribute belongs to the value that follows it.
		return r.value()
	}
	return f, nil
}

// Words returns the strings of an array, as a request has them.
func (f Frame) Words() []string {
	words := make([]string, len(f.Items))
	for i, item := range f.Items {
		words[i] = item.Text
	}
	return words
}

// Reply returns the value as a Reply; an error reply becomes the error.
func (f Frame) Reply() (backend.Reply, error) {
	switch {
	case f.Null:
		return backend.Reply{}, nil
	case f.Kind == '-', f.Kind == '!':
		return backend.Reply{}, backend.ParseServerError(f.Text)
	case f.Kind == ':':
		n, err := strconv.ParseInt(f.Text, 10, 64)
		return backend.IntegerReply(n), err
	case f.Kind == '=':
		_, text, _ := strings.Cut(f.Text, ":")
		return backend.StringReply(text), nil
	case f.Items == nil && strings.IndexByte("*>~%", f.Kind) < 0:
		return backend.StringReply(f.Text), nil
	}
	items := make([]backend.Reply, len(f.Items))
	for i, item := range f.Items {
		// An error within an array stays readable: transactions answer so.
		if items[i], _ = item.Reply(); item.Kind == '-' || item.Kind == '!' {
			items[i] = backend.StringReply(item.Text)
		}
	}
	return backend.ArrayReply(items), nil
}

// Timeout bounds each exchange with a server, so a test reports a server that hangs.
const Timeout = 20 * time.Second

// Conn is a connection for the commands of tests, such as INFO, CLIENT KILL or CONFIG SET. It
// speaks RESP2. It is not safe for concurrent use.
type Conn struct {
	net net.Conn
	in  *bufio.Reader
}

// Dial connects to a server, or to a proxy before it. The caller closes the connection.
func Dial(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, Timeout)
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// New returns a connection over c.
func New(c net.Conn) *Conn { return &Conn{net: c, in: bufio.NewReader(c)} }

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }

// Send sends one command and does not wait for its reply.
func (c *Conn) Send(words ...string) error {
	text := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		text = strconv.AppendInt(append(text, '$'), int64(len(word)), 10)
		text = append(append(append(text, "\r\n"...), word...), "\r\n"...)
	}
	if err := c.net.SetWriteDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	_, err := c.net.Write(text)
	return err
}

// Receive returns the next reply, or what a subscription delivers; it waits for up to timeout. An
// error reply is a [*backend.ServerError].
func (c *Conn) Receive(timeout time.Duration) (backend.Reply, error) {
	if err := c.net.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return backend.Reply{}, err
	}
	f, err := Read(c.in)
	if err != nil {
		return backend.Reply{}, err
	}
	return f.Reply()
}

// Do sends one command and returns its reply; it waits for up to 20 s.
func (c *Conn) Do(words ...string) (backend.Reply, error) {
	if err := c.Send(words...); err != nil {
		return backend.Reply{}, err
	}
	return c.Receive(Timeout)
}

// Do runs one command on a connection of its own, as [Conn.Do] does.
func Do(addr string, words ...string) (backend.Reply, error) {
	c, err := Dial(addr)
	if err != nil {
		return backend.Reply{}, err
	}
	defer func() { _ = c.Close() }()
	return c.Do(words...)
}
