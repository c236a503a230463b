package parse

import (
	"slices"
	"strconv"
	"strings"
)

// scriptFlags are the flags that "---@flag" may name. A server from 7.0 on takes them.
var scriptFlags = []string{"no-writes", "allow-oom", "allow-cross-slot-keys"}

func (h *headerReader) scriptFlag(w *words) {
	flag, pos := w.next()
	if !slices.Contains(scriptFlags, flag) {
		h.find(pos, "unknown flag %s%s", flag, suggest(flag, scriptFlags, "there are"))
		return
	}
	h.end(w, "write each flag as a ---@flag of its own")
	if h.once("flag "+flag, pos) {
		h.header.Flags = append(h.header.Flags, flag)
	}
}

// checkFlags checks flags against the rest of the header.
func (h *headerReader) checkFlags() {
	if len(h.header.Flags) == 0 {
		return
	}
	at := h.seen["flag "+h.header.Flags[0]]
	switch writes := !slices.Contains(h.header.Flags, "no-writes"); {
	case h.header.Library:
		h.find(at, "a library has no flags: its scripts have")
	case writes && h.header.ReadOnly:
		h.find(at, "a read-only script with flags needs ---@flag no-writes, too: EVALSHA_RO refuses it without")
	case !writes && !h.header.ReadOnly:
		h.find(at, "a script with the flag no-writes is ---@readonly")
	}
	for _, t := range h.header.Since {
		major, _, _ := strings.Cut(t.Version, ".")
		if n, _ := strconv.Atoi(major); n < 7 {
			h.find(at, "%s takes no flags", strings.TrimSpace(t.Server+" "+t.Version))
		}
	}
}
