--- Ends the window of a limiter, so all permits are free.
---
---@key limiter hash
redis.call('hlen', limiter) -- Fails if the key is no limiter.
redis.call('del', limiter)
