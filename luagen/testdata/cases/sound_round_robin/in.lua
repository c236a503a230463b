--- Gives the next of a list of workers.
---@key workers list
---@return string? worker
local worker = redis.call('rpoplpush', workers, workers)
if worker == false then
  return nil
end
return worker
