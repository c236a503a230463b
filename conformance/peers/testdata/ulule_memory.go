// Package memory has the store of package redis beside it.
package memory

import "github.com/ulule/limiter/v3/drivers/store/redis"

var NewStore = redis.NewStore
