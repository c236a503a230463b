--- Begins a request once: a second caller gets the answer that was stored, or learns that it runs.
---@key request hash
---@arg caller string
---@arg keep milliseconds
---@return string state
---@return bytes? answer
local state = redis.call('HGET', request, 'state')
if state == 'done' then
  return {'done', redis.call('HGET', request, 'answer')}
elseif state then
  return {'running', false}
end
redis.call('HSET', request, 'state', 'running', 'caller', caller)
redis.call('PEXPIRE', request, keep)
return {'begun', false}
