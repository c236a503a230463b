package renew

// surveyed is how many entries a survey looks at.
const surveyed = 2000

// survey reports to OnNodes which nodes have leases, about every checkInterval, and notes which node has which. A lease
// counts when it was held for that long, so a client with short holds has no use of it. If there are very many entries,
// each survey looks at others.
func (k *Keeper) survey() {
	if k.OnNodes == nil {
		return
	}
	entries, all := k.surveyEntries()
	channels := make(map[string]string)
	for _, e := range entries {
		node := k.nodeOf(e.Key)
		k.noteNode(e, node)
		if _, known := channels[node]; known {
			continue
		}
		if channel := k.ChannelOf(e); channel != "" {
			channels[node] = channel
		}
		if k.NodeOf == nil && len(channels) > 0 {
			break
		}
	}
	if len(channels) > 0 || all {
		k.OnNodes(channels, all)
	}
}

// noteNode notes which node has the key of e. If another node had it before, that is a signal for this node: another
// server took its place, or the slot moved.
func (k *Keeper) noteNode(e *Entry, node string) {
	if node == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.roundsOf(node)
	if e.node != 0 && e.node != n.number {
		k.signal(node)
	}
	e.node = n.number
}

// surveyEntries returns leases that a survey looks at, and whether these are all.
func (k *Keeper) surveyEntries() (found []*Entry, all bool) {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.entries) > 0 && now.at < k.surveyAt {
		return nil, false
	}
	k.surveyAt = now.at + checkInterval
	count := min(len(k.entries), surveyed)
	for range count {
		k.surveyNext++
		e := k.entries[k.surveyNext%len(k.entries)]
		if e.state == stateHeld && e.Renewer != nil && now.at-e.grantedAt >= checkInterval {
			found = append(found, e)
		}
	}
	return found, count == len(k.entries)
}
