package servers

import (
	"bufio"
	"net"
)

// MonitorWords reads a line of MONITOR.
var MonitorWords = monitorWords

// ErrPortTaken lets tests see why a start is tried again.
var ErrPortTaken = errPortTaken

// MoveTo starts a server, then starts it again on another port.
func MoveTo(kind Kind, port int, config map[string]string) error {
	s, err := Launch(kind, &Options{Config: config})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	s.Kill()
	s.port = port
	return s.start()
}

// Over returns a connection for commands over c.
func Over(c net.Conn) *Conn { return &Conn{net: c, in: bufio.NewReader(c)} }
