package servers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Record collects the commands that clients send to nodes, by MONITOR, from its return to the call
// of stop: word by word, without those that scripts run. stop must be called once. On a server that
// works hard it costs much.
func Record(nodes ...*Server) (stop func() ([][]string, error), err error) {
	monitors := make([]*monitor, 0, len(nodes))
	for _, node := range nodes {
		m, err := startMonitor(node)
		if err != nil {
			for _, m := range monitors {
				_ = m.conn.Close()
			}
			return nil, err
		}
		monitors = append(monitors, m)
	}
	return func() (all [][]string, failed error) {
		for _, m := range monitors {
			commands, err := m.stop()
			all, failed = append(all, commands...), errors.Join(failed, err)
		}
		return all, failed
	}, nil
}

// monitor is a connection that a server shows all commands on.
type monitor struct {
	node *Server
	conn *Conn
}

func startMonitor(node *Server) (*monitor, error) {
	conn, err := Dial(node.Addr())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Do("MONITOR"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &monitor{node: node, conn: conn}, nil
}

// stop returns what came since the start.
func (m *monitor) stop() (commands [][]string, err error) {
	defer func() { _ = m.conn.Close() }()
	last := rand.Text() // others may record on this server, too
	if _, err := m.node.Do("PING", last); err != nil {
		return nil, err
	}
	for {
		reply, err := m.conn.Receive(ioTimeout)
		if err != nil {
			return nil, err
		}
		line, err := reply.Text()
		if err != nil {
			return nil, err
		}
		words, err := monitorWords(line)
		if err != nil {
			return nil, err
		}
		if len(words) == 2 && words[1] == last {
			return commands, nil
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
}

// monitorWords reads `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. A command that a script
// ran, whose address is "lua", gives none.
func monitorWords(line string) (words []string, err error) {
	from, rest, ok := strings.Cut(line, "] ")
	if !ok {
		return nil, fmt.Errorf("MONITOR sent %q", line)
	}
	if strings.HasSuffix(from, " lua") {
		return nil, nil
	}
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("MONITOR sent %q: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("MONITOR sent %q: %w", line, err)
		}
		words = append(words, word)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	return words, nil
}
