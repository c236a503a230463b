--- Reports whether the keys of a request exist, as the asking process has made them: with an expiry.
---
---@key semaphore string                    the number of answers
---@return bool here
---@readonly
return redis.call('pttl', semaphore) > 0
