package backend

import "strings"

// Slots is the number of hash slots of a cluster.
const Slots = 16384

// Slot returns the cluster slot of a key or sharded channel: CRC16 of its hash tag, or of all of
// it if it has none. Source: the Redis Cluster specification, "Hash tags".
func Slot(key string) int {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return int(crc % Slots)
}

// SameSlot returns nil if all keys hash to one slot, else [ErrCrossSlot].
func SameSlot(keys []string) error {
	for _, key := range keys[min(1, len(keys)):] {
		if key != keys[0] && Slot(key) != Slot(keys[0]) {
			return ErrCrossSlot
		}
	}
	return nil
}

// crcTable is the table of CRC-16/XMODEM, whose polynomial is 0x1021.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}()

// Sharding is an adapter's option: whether to use sharded pub/sub in a cluster (S4). All clients
// that share names must agree, because neither kind reaches the other's subscribers; so must a
// Redisson client's setting. It has no meaning outside a cluster.
type Sharding int

const (
	// ShardedAuto uses SSUBSCRIBE and SPUBLISH if the server knows them, as of Redis 7.0 and any
	// Valkey.
	ShardedAuto Sharding = iota
	// ShardedOn uses SSUBSCRIBE and SPUBLISH.
	ShardedOn
	// ShardedOff uses SUBSCRIBE and PUBLISH.
	ShardedOff
)

// String returns the option's name.
func (s Sharding) String() string {
	switch s {
	case ShardedAuto:
		return "auto"
	case ShardedOn:
		return "on"
	case ShardedOff:
		return "off"
	}
	return "unknown"
}
