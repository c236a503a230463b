package redis_rate_test

import "github.com/go-redis/redis_rate/v10"

func rateLimiter() *redis_rate.Limiter { return redis_rate.NewLimiter(nil) }
