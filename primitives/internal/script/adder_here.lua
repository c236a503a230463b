--- Reports whether the keys of a request are here, as the asker has made them: with an expiry.
---
---@key semaphore string                    how many have answered
---@return bool here
---@readonly
return redis.call('pttl', semaphore) > 0
