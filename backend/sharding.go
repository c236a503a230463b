package backend

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
