package servers

import (
	"bufio"

	"github.com/hasp-go/hasp/backend"
)

// ReadFrame reads one value, and returns it with the bytes that a proxy would pass on. broken says
// why there is none; err is the error reply that the value is.
func ReadFrame(in *bufio.Reader) (reply backend.Reply, raw []byte, broken, err error) {
	f, broken := readFrame(in)
	if broken != nil {
		return backend.Reply{}, f.raw, broken, nil
	}
	reply, err = f.reply()
	return reply, f.raw, nil, err
}
