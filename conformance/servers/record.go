package servers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

// Record collects the commands that clients send to nodes, by MONITOR, from its return to the call of stop: word by
// word, without those that scripts run. stop must be called once. On a server that works hard it costs much.
func Record(nodes ...*Server) (stop func() ([][]string, error), err error) {
	monitors := make([]*resp.Conn, 0, len(nodes))
	end := func() {
		for _, m := range monitors {
			_ = m.Close()
		}
	}
	for _, node := range nodes {
		m, err := resp.Dial(node.Addr())
		if err == nil {
			monitors = append(monitors, m)
			_, err = m.Do("MONITOR")
		}
		if err != nil {
			end()
			return nil, err
		}
	}
	return func() (all [][]string, failed error) {
		defer end()
		for i, m := range monitors {
			commands, err := recorded(nodes[i], m)
			all, failed = append(all, commands...), errors.Join(failed, err)
		}
		return all, failed
	}, nil
}

// recorded returns what a node has shown on its monitor up to now.
func recorded(node *Server, monitor *resp.Conn) (commands [][]string, err error) {
	last := rand.Text() // others may record on this server, too
	if err := node.run("PING", last); err != nil {
		return nil, err
	}
	for {
		line, err := text(monitor.Receive(resp.Timeout))
		if err != nil {
			return nil, err
		}
		words, err := monitorWords(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("MONITOR sent %q: %w", line, err)
		case len(words) == 2 && words[1] == last:
			return commands, nil
		case len(words) > 0:
			commands = append(commands, words)
		}
	}
}

// monitorWords reads `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. A command that a script
// ran, whose address is "lua", gives none.
func monitorWords(line string) (words []string, err error) {
	from, rest, ok := strings.Cut(line, "] ")
	if !ok {
		return nil, strconv.ErrSyntax
	}
	if strings.HasSuffix(from, " lua") {
		return nil, nil
	}
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, err
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	return words, nil
}
