# fmt: off
# isort: off

from .basket_planner import PlannedCollection as PlannedCollection, explain_guarantees as explain_guarantees
from .detection_limits import PlanForDetection as PlanForDetection, reports_to_detect as reports_to_detect
