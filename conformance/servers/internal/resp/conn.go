package resp

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

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
